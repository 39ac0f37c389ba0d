import type { Fact, InspectOptions, Remains } from '../../../core/facts.ts'
import type { Admin } from '../../../core/store.ts'
import {
  type Clock,
  EMPTY,
  type EvictAnswer,
  isInUse,
  type KeyView,
  step,
  viewOf,
} from '../../../model/index.ts'
import { RULES } from '../../shared/rules.ts'
import type { KeySnapshot, KeyTable } from './database.ts'
import type { ServerInspection } from './inspection.ts'

const KEYS_PER_PAGE = 500

export class ServerAdmin implements Admin {
  readonly evict: (key: string, token: bigint | null, ask: boolean) => Promise<EvictAnswer>
  private readonly keys: KeyTable
  private readonly ready: () => Promise<void>
  private readonly inspection: ServerInspection

  constructor(
    keys: KeyTable,
    ready: () => Promise<void>,
    evict: ServerAdmin['evict'],
    inspection: ServerInspection,
  ) {
    this.keys = keys
    this.ready = ready
    this.evict = evict
    this.inspection = inspection
  }

  async read(key: string): Promise<KeyView> {
    await this.ready()
    const { clock, rows } = await this.keys.read([key], [{ key, ids: [], owners: [], heads: Infinity }])
    return view(key, rows.get(key), clock)
  }

  async *list(prefix: string): AsyncIterable<KeyView> {
    await this.ready()
    for (let after: string | null = null; ; ) {
      const { clock, rows } = await this.keys.page(prefix, after, KEYS_PER_PAGE)
      for (const [key, row] of rows) {
        if (!key.startsWith(prefix)) return
        const shown = view(key, row, clock)
        if (isInUse(shown)) yield shown
      }
      const last = rows.at(-1)
      if (last === undefined || rows.length < KEYS_PER_PAGE) return
      after = last[0]
    }
  }

  inspect(options: InspectOptions): AsyncIterable<Fact> {
    return this.inspection.facts(options)
  }

  reap(remains: readonly Remains[], olderMs: number): Promise<readonly boolean[]> {
    return this.inspection.reap(remains, olderMs)
  }
}

/** The key as it will be when its time has been counted, which only a claimant writes down. */
function view(key: string, seen: KeySnapshot | undefined, clock: Clock): KeyView {
  return viewOf(key, step(seen?.state ?? EMPTY, { kind: 'tick' }, clock, RULES).state, clock.nowMs)
}
