import type { Fact, InspectOptions, Remains } from '../../../core/facts.ts'
import type { Runtime } from '../../../core/runtime.ts'
import type { Admin } from '../../../core/store.ts'
import { EMPTY, type EvictAnswer, isInUse, type KeyView } from '../../../model/index.ts'
import { CLEANING_STEPS, deadLock, isOverdueRows, NO_TOKEN, overdueRows, viewAt } from '../../shared/sql.ts'

import type { ServerDatabase } from './database.ts'

const KEYS_PER_PAGE = 500

export class ServerAdmin implements Admin {
  readonly evict: (key: string, token: bigint | null, ask: boolean) => Promise<EvictAnswer>
  private readonly database: ServerDatabase
  private readonly runtime: Runtime
  private readonly ready: () => Promise<void>

  constructor(
    database: ServerDatabase,
    runtime: Runtime,
    ready: () => Promise<void>,
    evict: ServerAdmin['evict'],
  ) {
    this.database = database
    this.runtime = runtime
    this.ready = ready
    this.evict = evict
  }

  async read(key: string): Promise<KeyView> {
    await this.ready()
    const request = { key, ids: [], owners: [], heads: Number.POSITIVE_INFINITY }
    const { clock, rows } = await this.database.keys.read([key], [request])
    return viewAt(key, rows.get(key)?.state ?? EMPTY, clock)
  }

  async *list(prefix: string): AsyncIterable<KeyView> {
    await this.ready()
    for await (const { key, state, clock } of this.pages(prefix)) {
      if (!key.startsWith(prefix)) return
      const shown = viewAt(key, state, clock)
      if (isInUse(shown)) yield shown
    }
  }

  async *inspect({ foreign, deadForMs }: InspectOptions): AsyncIterable<Fact> {
    await this.ready()
    yield* this.database.inspect(foreign, this.runtime)
    for (const { table, count } of await this.database.overdue(deadForMs)) yield* overdueRows(table, count)
    for await (const { key, state, clock } of this.pages(''))
      yield* deadLock(key, state, clock.nowMs, deadForMs)
  }

  async reap(remains: readonly Remains[], olderMs: number): Promise<readonly boolean[]> {
    await this.ready()
    return Promise.all(remains.map((each) => this.remove(each, olderMs)))
  }

  private async *pages(prefix: string) {
    for (let after: string | null = null; ; ) {
      const { clock, rows } = await this.database.keys.page(prefix, after, KEYS_PER_PAGE)
      for (const [key, { state }] of rows) yield { key, state, clock }
      const last = rows.at(-1)
      if (last === undefined || rows.length < KEYS_PER_PAGE) return
      after = last[0]
    }
  }

  private async remove(remains: Remains, olderMs: number): Promise<boolean> {
    if (remains.kind === 'foreign') return this.database.endForeign(remains, olderMs)
    if (isOverdueRows(remains)) return this.clean()
    // The row is written only if the model finds something dead in it; living claims stay.
    await this.evict(remains.name, NO_TOKEN, false)
    return true
  }

  private async clean(): Promise<boolean> {
    let removed = 0
    for (let steps = 0; steps < CLEANING_STEPS; steps++) {
      const some = await this.database.clean()
      removed += some
      if (some === 0) break
    }
    return removed > 0
  }
}
