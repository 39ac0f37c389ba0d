import type { Fact, InspectOptions, Remains } from '../../core/facts.ts'
import type { Runtime } from '../../core/runtime.ts'
import type { Admin, Soon } from '../../core/store.ts'
import {
  type Clock,
  type EvictAnswer,
  isInUse,
  type KeyState,
  type KeyView,
  step,
  strangeView,
  viewOf,
} from '../../model/index.ts'
import { NO_TOKEN, RULES } from '../shared/rules.ts'
import type { SqliteInspection } from './inspection.ts'
import type { SqliteKeys } from './keys.ts'
import type { TransactionRunner } from './transaction-runner.ts'

const KEYS_PER_PAGE = 500

export class SqliteAdmin implements Admin {
  readonly evict: (key: string, token: bigint | null, ask: boolean) => Soon<EvictAnswer>
  private readonly keys: SqliteKeys
  private readonly desk: TransactionRunner
  private readonly runtime: Runtime
  private readonly inspection: SqliteInspection

  constructor(
    keys: SqliteKeys,
    desk: TransactionRunner,
    runtime: Runtime,
    evict: SqliteAdmin['evict'],
    inspection: SqliteInspection,
  ) {
    this.keys = keys
    this.desk = desk
    this.runtime = runtime
    this.evict = evict
    this.inspection = inspection
  }

  read(key: string): Soon<KeyView> {
    return this.desk.look((clock) => view(key, this.keys.load(key, clock.nowMs), clock))
  }

  async *list(prefix: string): AsyncIterable<KeyView> {
    for (let after: string | null = null; ; ) {
      const page = await this.desk.look((clock) => this.page(prefix, after, clock))
      for (const shown of page) {
        if (!shown.key.startsWith(prefix)) return
        if (isInUse(shown)) yield shown
      }
      const last = page.at(-1)
      if (last === undefined || page.length < KEYS_PER_PAGE) return
      after = last.key
      await this.breathe()
    }
  }

  async *inspect({ deadForMs }: InspectOptions): AsyncIterable<Fact> {
    yield* await this.desk.run(() => this.inspection.overdue(deadForMs))
    for (let after: string | null = null; ; ) {
      const page = await this.desk.look(({ nowMs }) => ({
        rows: this.keys.page('', after, KEYS_PER_PAGE, nowMs),
        nowMs,
      }))
      for (const { key, state } of page.rows)
        if (state !== null) yield* this.inspection.dead(key, state, page.nowMs, deadForMs)
      const last = page.rows.at(-1)
      if (last === undefined || page.rows.length < KEYS_PER_PAGE) return
      after = last.key
      await this.breathe()
    }
  }

  async reap(remains: readonly Remains[]): Promise<readonly boolean[]> {
    const done: boolean[] = []
    for (const each of remains) {
      if (each.kind === 'foreign') done.push(false)
      else if (this.inspection.isRows(each)) done.push(await this.desk.run(() => this.inspection.clean()))
      // The row is written only if the model finds something dead in it; what lives in it stays.
      else done.push((await this.evict(each.name, NO_TOKEN, false)) !== null)
    }
    return done
  }

  private page(prefix: string, after: string | null, clock: Clock): KeyView[] {
    return this.keys
      .page(prefix, after, KEYS_PER_PAGE, clock.nowMs)
      .map(({ key, state }) => (state === null ? strangeView(key) : view(key, state, clock)))
  }

  /** Others get the event loop between two pages. */
  private breathe(): Promise<void> {
    return new Promise((resolve) => {
      this.runtime.setTimer(resolve, 0, false)
    })
  }
}

/** The key as it will be when its time has been counted, which only a claimant writes down. */
function view(key: string, state: KeyState, clock: Clock): KeyView {
  return viewOf(key, step(state, { kind: 'tick' }, clock, RULES).state, clock.nowMs)
}
