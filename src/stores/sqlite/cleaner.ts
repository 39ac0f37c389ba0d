import { SQL_RULES } from '../shared/sql.ts'

import type { SqliteStatement } from './binding.ts'
import type { BootClock } from './boot.ts'
import type { SqliteConnection } from './connection.ts'

/** Clean-up may remove two rows for every row that can have come, so the tables shrink to the needed rows. */
const KEYS_PER_STEP = 25
const ROWS_PER_STEP = 50

/** Removes rows that are no longer needed, a few after every few keys, always through an index. */
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
  /** True if rows of another boot may be left. */
  private olderBoots = true

  constructor(connection: SqliteConnection, clock: BootClock) {
    this.clock = clock
    this.connection = connection
    const due = (table: string) => `SELECT key FROM ${table} WHERE boot = ?1 AND forget_at <= ?2`
    const some = `LIMIT ${ROWS_PER_STEP}`
    // The row of a key is removed after its claims.
    const keys = [
      `DELETE FROM holdfast_claims WHERE (key, id) IN (
        SELECT c.key, c.id FROM (${due('holdfast_locks')}) k JOIN holdfast_claims c ON c.key = k.key ${some})`,
      `DELETE FROM holdfast_locks WHERE key IN (${due('holdfast_locks')}
        AND NOT EXISTS (SELECT 1 FROM holdfast_claims c WHERE c.key = holdfast_locks.key) ${some})`,
    ]
    // A value ends with its ttl; its version is kept for a day.
    const records = [
      `UPDATE holdfast_records SET value = NULL, forget_at = forget_at + ${SQL_RULES.keepSeqMs}
        WHERE key IN (${due('holdfast_records')} AND value IS NOT NULL ${some})`,
      `DELETE FROM holdfast_records WHERE key IN (${due('holdfast_records')} AND value IS NULL ${some})`,
    ]
    // Nearly always nothing is due, and reading is cheaper than a statement that would write.
    this.forgets = [
      { table: 'holdfast_locks', removals: keys },
      { table: 'holdfast_records', removals: records },
    ].map(({ table, removals }) => ({
      isDue: connection.prepare(`${due(table)} LIMIT 1`),
      removals: removals.map((sql) => connection.prepare(sql)),
    }))
    // In the index the rows of other boots come before and after those of this one.
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

  /** Returns the number of removed rows. */
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
      // Mostly another process is writing. The next step comes, and a call that has succeeded must not fail because of clean-up.
    }
    return removed
  }

  /** Moves the rows of other boots to this boot's clock. Returns whether there were any. */
  private moveOlderBoots(nowMs: number): boolean {
    const { bootId } = this.clock
    let moved = 0
    for (const { claims, keys } of this.moves) {
      moved += this.connection.transaction(() => {
        claims.run(bootId)
        return Number(keys.run(bootId, nowMs, nowMs + SQL_RULES.keepSeqMs).changes)
      })
    }
    for (const move of this.recordMoves) {
      moved += Number(move.run(bootId, nowMs, this.clock.wallMs(), SQL_RULES.keepSeqMs).changes)
    }
    return moved > 0
  }
}
