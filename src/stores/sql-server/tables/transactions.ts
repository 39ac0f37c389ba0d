import type { Transactions } from '../../../core/store.ts'
import { type Clock, EMPTY, type KeyState, step } from '../../../model/index.ts'
import { NO_TOKEN, SQL_RULES } from '../../shared/sql.ts'

import type { ServerAdmin } from './admin.ts'

import type { KeySnapshot, ServerDatabase } from './database.ts'

type Taken = Awaited<ReturnType<Transactions['take']>>

/**
 * Takes a key's row inside a transaction of the caller. The row is read on a connection of the pool first: so a key that is held
 * leaves no row lock behind in the transaction, and the wait for its holder begins outside of it.
 */
export class ServerTransactions implements Transactions {
  private readonly database: ServerDatabase
  private readonly ready: () => Promise<void>
  private readonly evict: ServerAdmin['evict']

  constructor(database: ServerDatabase, ready: () => Promise<void>, evict: ServerAdmin['evict']) {
    this.database = database
    this.ready = ready
    this.evict = evict
  }

  async take(tx: object, key: string, insideMs: number): Promise<Taken> {
    const claim = this.database.claimIn(tx)
    await this.ready()
    let { clock, seen } = await this.find(key)
    const { state } = step(seen?.state ?? EMPTY, { kind: 'tick' }, clock, SQL_RULES)
    const blocked = blockedBy(state, clock)
    if (blocked !== null || seen === undefined) return blocked ?? BUSY
    if (seen.row.holder !== null || seen.row.others > 0) {
      // All its claims are dead. They are removed beforehand, so that the transaction changes one row only.
      await this.evict(key, NO_TOKEN, false)
      ;({ clock, seen } = await this.find(key))
      if (seen === undefined) return BUSY
    }
    const { row } = seen
    const seq = await claim.take(key, row)
    if (seq !== null) return { kind: 'granted', seq }
    if (insideMs > 0) await claim.wait(key, insideMs)
    return BUSY
  }

  /** Creates a missing row outside of the transaction: others that create it too would wait for the commit. */
  private async find(key: string): Promise<{ clock: Clock; seen: KeySnapshot | undefined }> {
    const { keys } = this.database
    const found = await keys.read([key])
    if (found.rows.has(key)) return { clock: found.clock, seen: found.rows.get(key) }
    const { nowMs } = found.clock
    const state: KeyState = { ...EMPTY, seqKeptUntilMs: nowMs + SQL_RULES.keepSeqMs }
    const made = keys.save([{ key, before: undefined, state }], found.clock, {
      notifications: [],
      whole: false,
    })
    await made.catch((error) => {
      if (this.database.reasonOf(error) === null) throw error
    })
    const again = await keys.read([key])
    return { clock: again.clock, seen: again.rows.get(key) }
  }
}

const BUSY: Taken = { kind: 'blocked', holder: null, heldMs: null }

function blockedBy({ holds, queue, closedUntilMs }: KeyState, { nowMs }: Clock): Taken | null {
  const holder = holds[0]?.members[0]
  if (holder !== undefined) return { kind: 'blocked', holder: holder.label, heldMs: nowMs - holder.sinceMs }
  return queue.length > 0 || closedUntilMs > nowMs ? BUSY : null
}
