import { RULES } from '../shared/rules.ts'
import type { SqliteStatement } from './binding.ts'
import type { BootClock } from './boot.ts'
import type { SqliteConnection } from './connection.ts'

/** Two rows may go for every row that can have come, so the tables shrink to what has to be remembered. */
const KEYS_PER_STEP = 25
const ROWS_PER_STEP = 50

/** Removes what need not be remembered any more, a few rows after every few keys, always by an index. */
export class SqliteCleaner {
  private readonly clock: BootClock
  private readonly connection: SqliteConnection
  private readonly forgets: readonly {
    readonly isDue: SqliteStatement
    readonly removals: readonly SqliteStatement[]
  }[]
  private readonly moves: readonly { readonly claims: SqliteStatement; readonly keys: SqliteStatement }[]
  private readonly recordMoves: readonly SqliteStatement[]
  private keys = 0
  /** Whether rows of another boot may be left. */
  private olderBoots = true

  constructor(connection: SqliteConnection, clock: BootClock) {
    this.clock = clock
    this.connection = connection
    const due = (table: string) => `SELECT key FROM ${table} WHERE boot = ?1 AND forget_at <= ?2`
    const some = `LIMIT ${ROWS_PER_STEP}`
    // The row of a key goes when its claims are gone.
    const keys = [
      `DELETE FROM holdfast_claims WHERE (key, id) IN (
        SELECT c.key, c.id FROM (${due('holdfast_locks')}) k JOIN holdfast_claims c ON c.key = k.key ${some})`,
      `DELETE FROM holdfast_locks WHERE key IN (${due('holdfast_locks')}
        AND NOT EXISTS (SELECT 1 FROM holdfast_claims c WHERE c.key = holdfast_locks.key) ${some})`,
    ]
    // A value ends with its ttl; its version is kept for a day.
    const records = [
      `UPDATE holdfast_records SET value = NULL, forget_at = forget_at + ${RULES.keepSeqMs}
        WHERE key IN (${due('holdfast_records')} AND value IS NOT NULL ${some})`,
      `DELETE FROM holdfast_records WHERE key IN (${due('holdfast_records')} AND value IS NULL ${some})`,
    ]
    // Nearly always nothing is due, and a look is cheaper than a statement that would write.
    this.forgets = [
      { table: 'holdfast_locks', removals: keys },
      { table: 'holdfast_records', removals: records },
    ].map(({ table, removals }) => ({
      isDue: connection.prepare(`${due(table)} LIMIT 1`),
      removals: removals.map((sql) => connection.prepare(sql)),
    }))
    // The rows of another boot stand before and after this one's in the index.
    this.moves = ['<', '>'].map((side) => {
      const older = `(SELECT key FROM holdfast_locks WHERE boot ${side} ?1 ORDER BY boot, forget_at, key ${some})`
      return {
        claims: connection.prepare(`DELETE FROM holdfast_claims WHERE key IN ${older}`),
        keys: connection.prepare(`
          UPDATE holdfast_locks SET boot = ?1, at = ?2, closed_until = 0, mode = NULL, used = 0, holders = 0, waiters = 0,
            holder = NULL, owner = NULL, actor = NULL, label = NULL, meta = NULL, inbox = NULL, expires_at = 0, forget_at = ?3
          WHERE key IN ${older}`),
      }
    })
    this.recordMoves = ['<', '>'].map((side) =>
      connection.prepare(`
        UPDATE holdfast_records SET boot = ?1, at = ?2, expires_at = ?2 + expires_wall - ?3,
          forget_at = CASE WHEN value IS NULL THEN ?2 + ?4
            WHEN expires_at IS NULL THEN NULL ELSE ?2 + max(coalesce(expires_wall, ?3) - ?3, 0) END
        WHERE key IN (SELECT key FROM holdfast_records WHERE boot ${side} ?1 LIMIT ${ROWS_PER_STEP})`),
    )
  }

  /** Called after every call that may have written, with the number of its keys. */
  count(keys: number): void {
    this.keys += keys
    while (this.keys >= KEYS_PER_STEP) {
      this.keys -= KEYS_PER_STEP
      if (this.step() === 0) this.keys %= KEYS_PER_STEP
    }
  }

  /** Says how many rows were removed. */
  step(): number {
    let removed = 0
    try {
      const nowMs = this.clock.nowMs()
      const { bootId } = this.clock
      for (const { isDue, removals } of this.forgets) {
        if (isDue.get(bootId, nowMs) === undefined) continue
        for (const removal of removals) removed += Number(removal.run(bootId, nowMs).changes)
      }
      if (this.olderBoots) this.olderBoots = this.moveOlderBoots(nowMs)
    } catch {
      // Nearly always because somebody else is writing. There will be another step, and a call that has succeeded must
      // not fail because of this one.
    }
    return removed
  }

  /** Counts the time of what another boot wrote on this boot's clock. Says whether anything was found. */
  private moveOlderBoots(nowMs: number): boolean {
    const { bootId } = this.clock
    let moved = 0
    for (const { claims, keys } of this.moves) {
      moved += this.connection.transaction(() => {
        claims.run(bootId)
        return Number(keys.run(bootId, nowMs, nowMs + RULES.keepSeqMs).changes)
      })
    }
    for (const move of this.recordMoves) {
      moved += Number(move.run(bootId, nowMs, this.clock.wallMs(), RULES.keepSeqMs).changes)
    }
    return moved > 0
  }
}
