import type { Fact, InspectOptions, Remains } from '../../../core/facts.ts'
import type { Runtime } from '../../../core/runtime.ts'
import { type EvictAnswer, lastLifeMs } from '../../../model/index.ts'
import { NO_TOKEN } from '../../shared/rules.ts'
import type { ServerDatabase } from './database.ts'

const KEYS_PER_PAGE = 500
/** How many small steps of clean-up are made before the answer is given. */
const STEPS = 20

/** What an operator should know about the server, and the rows that nobody needs. */
export class ServerInspection {
  private readonly database: ServerDatabase
  private readonly runtime: Runtime
  private readonly ready: () => Promise<void>
  private readonly evict: (key: string, token: bigint | null, ask: boolean) => Promise<EvictAnswer>

  constructor(
    database: ServerDatabase,
    runtime: Runtime,
    ready: () => Promise<void>,
    evict: ServerInspection['evict'],
  ) {
    this.database = database
    this.runtime = runtime
    this.ready = ready
    this.evict = evict
  }

  async *facts({ foreign, deadForMs }: InspectOptions): AsyncIterable<Fact> {
    await this.ready()
    yield* this.database.inspect(foreign, this.runtime)
    for (const { table, count } of await this.database.overdue(deadForMs))
      if (count > 0) yield orphan(table, ROWS, count, null)
    for (let after: string | null = null; ; ) {
      const { clock, rows } = await this.database.keys.page('', after, KEYS_PER_PAGE)
      for (const [key, { state }] of rows) {
        const endedMs = lastLifeMs(state)
        if (endedMs !== null && clock.nowMs - endedMs > deadForMs)
          yield orphan(key, 'a lock whose holders and waiters are all dead', 1, clock.nowMs - endedMs)
      }
      const last = rows.at(-1)
      if (last === undefined || rows.length < KEYS_PER_PAGE) return
      after = last[0]
    }
  }

  async reap(remains: readonly Remains[], olderMs: number): Promise<readonly boolean[]> {
    await this.ready()
    return Promise.all(remains.map((each) => this.remove(each, olderMs)))
  }

  private async remove(remains: Remains, olderMs: number): Promise<boolean> {
    if (remains.kind === 'foreign') return this.database.endForeign(remains, olderMs)
    if (remains.what === ROWS) return this.clean()
    // The row is written only if the model finds something dead in it; what lives in it stays.
    await this.evict(remains.name, NO_TOKEN, false)
    return true
  }

  private async clean(): Promise<boolean> {
    let all = 0
    for (let step = 0; step < STEPS; step++) {
      const removed = await this.database.clean()
      all += removed
      if (removed === 0) break
    }
    return all > 0
  }
}

const ROWS = 'rows that need not be remembered any more'

function orphan(name: string, what: string, count: number, idleMs: number | null): Remains {
  return { kind: 'orphan', name, what, count, blocking: false, idleMs, proof: '' }
}
