import type { Fact, InspectOptions, Remains } from '../../core/facts.ts'
import type { Runtime } from '../../core/runtime.ts'
import type { Admin, Soon } from '../../core/store.ts'
import { type Clock, type EvictAnswer, isInUse, type KeyView, strangeView } from '../../model/index.ts'
import { CLEANING_STEPS, deadLock, isOverdueRows, NO_TOKEN, overdueRows, viewAt } from '../shared/sql.ts'

import { SqliteCleaner } from './cleaner.ts'
import type { SqliteConnection } from './connection.ts'
import type { SqliteKeys } from './keys.ts'
import type { TransactionRunner } from './transaction-runner.ts'

const KEYS_PER_PAGE = 500
const TABLES = ['holdfast_locks', 'holdfast_records'] as const
const UNSEEN: Fact = { kind: 'unseen', what: 'foreign locks', why: 'nobody but Holdfast writes to its file' }

export class SqliteAdmin implements Admin {
  readonly evict: (key: string, token: bigint | null, ask: boolean) => Soon<EvictAnswer>
  private readonly keys: SqliteKeys
  private readonly runner: TransactionRunner
  private readonly runtime: Runtime
  private readonly cleaner: SqliteCleaner
  private readonly counts

  constructor(
    connection: SqliteConnection,
    keys: SqliteKeys,
    runner: TransactionRunner,
    runtime: Runtime,
    evict: SqliteAdmin['evict'],
  ) {
    this.keys = keys
    this.runner = runner
    this.runtime = runtime
    this.evict = evict
    this.cleaner = new SqliteCleaner(connection, runner.clock)
    this.counts = TABLES.map((table) => ({
      table,
      due: connection.prepare(`SELECT count(*) AS count FROM ${table} WHERE boot = ? AND forget_at <= ?`),
    }))
  }

  read(key: string): Soon<KeyView> {
    return this.runner.look((clock) => viewAt(key, this.keys.load(key, clock.nowMs), clock))
  }

  async *list(prefix: string): AsyncIterable<KeyView> {
    for (let after: string | null = null; ; ) {
      const page = await this.runner.look((clock) => this.page(prefix, after, clock))
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
    yield* await this.runner.run(({ nowMs }) => this.overdue(nowMs - deadForMs))
    for (let after: string | null = null; ; ) {
      const page = await this.runner.look(({ nowMs }) => ({
        rows: this.keys.page('', after, KEYS_PER_PAGE, nowMs),
        nowMs,
      }))
      for (const { key, state } of page.rows)
        if (state !== null) yield* deadLock(key, state, page.nowMs, deadForMs)
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
      else if (isOverdueRows(each)) done.push(await this.runner.run(() => this.clean()))
      // The row is written only if the model finds something dead in it; living claims stay.
      else done.push((await this.evict(each.name, NO_TOKEN, false)) !== null)
    }
    return done
  }

  private page(prefix: string, after: string | null, clock: Clock): KeyView[] {
    return this.keys
      .page(prefix, after, KEYS_PER_PAGE, clock.nowMs)
      .map(({ key, state }) => (state === null ? strangeView(key) : viewAt(key, state, clock)))
  }

  private overdue(untilMs: number): Fact[] {
    const { bootId } = this.runner.clock
    const found = this.counts.flatMap(({ table, due }) =>
      overdueRows(table, Number((due.get(bootId, untilMs) as { readonly count: number }).count)),
    )
    return [...found, UNSEEN]
  }

  private clean(): boolean {
    let removed = 0
    for (let steps = 0; steps < CLEANING_STEPS; steps++) {
      const some = this.cleaner.step()
      removed += some
      if (some === 0) break
    }
    return removed > 0
  }

  /** Gives others the event loop between two pages. */
  private breathe(): Promise<void> {
    return new Promise((resolve) => {
      this.runtime.setTimer(resolve, 0, false)
    })
  }
}
