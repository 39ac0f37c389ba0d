import type { Runtime } from '../../../core/runtime.ts'
import type { Admin, Soon } from '../../../core/store.ts'
import {
  type Clock,
  type EvictAnswer,
  isInUse,
  type KeyState,
  type KeyView,
  step,
  viewOf,
} from '../../../model/index.ts'
import type { Desk } from './desk.ts'
import type { KeyTable } from './keys.ts'
import { RULES } from './rules.ts'

/** Free keys have rows too, so most of a page may be of no interest. */
const KEYS_PER_PAGE = 500

export class SqliteAdmin implements Admin {
  readonly evict: (key: string, token: bigint | null, ask: boolean) => Soon<EvictAnswer>
  private readonly keys: KeyTable
  private readonly desk: Desk
  private readonly runtime: Runtime

  constructor(keys: KeyTable, desk: Desk, runtime: Runtime, evict: SqliteAdmin['evict']) {
    this.keys = keys
    this.desk = desk
    this.runtime = runtime
    this.evict = evict
  }

  read(key: string): Soon<KeyView> {
    return this.desk.run((clock) => view(key, this.keys.load(key, clock.nowMs), clock))
  }

  async *list(prefix: string): AsyncIterable<KeyView> {
    for (let after: string | null = null; ; ) {
      const page = await this.desk.run((clock) => this.page(prefix, after, clock))
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

  private page(prefix: string, after: string | null, clock: Clock): KeyView[] {
    return this.keys
      .page(prefix, after, KEYS_PER_PAGE, clock.nowMs)
      .map(({ key, state }) => view(key, state, clock))
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
