import type { Statement } from './binding.ts'
import type { BootClock } from './boot.ts'
import type { Connection } from './connection.ts'
import { RULES } from './rules.ts'

/** Two rows may go for every row that can have come, so the tables shrink to what has to be remembered. */
const CALLS_PER_STEP = 25
const ROWS_PER_STEP = 50

/** Removes what need not be remembered any more, a few rows after every few calls, always by an index. */
export class Cleaner {
  private readonly clock: BootClock
  private readonly forgets: readonly Statement[]
  private readonly keyMoves: readonly Statement[]
  private readonly recordMoves: readonly Statement[]
  private calls = 0
  /** Whether rows of another boot may be left. */
  private olderBoots = true

  constructor(connection: Connection, clock: BootClock) {
    this.clock = clock
    this.forgets = ['holdfast_keys', 'holdfast_records'].map((table) =>
      connection.prepare(`
        DELETE FROM ${table} WHERE key IN
          (SELECT key FROM ${table} WHERE boot = ? AND forget_at <= ? LIMIT ${ROWS_PER_STEP})`),
    )
    // The rows of another boot stand before and after this one's in the index.
    this.keyMoves = ['<', '>'].map((side) =>
      connection.prepare(`
        UPDATE holdfast_keys SET boot = ?1, at = ?2, holder = NULL, expires_at = 0, state = NULL, forget_at = ?3
        WHERE key IN (SELECT key FROM holdfast_keys WHERE boot ${side} ?1 LIMIT ${ROWS_PER_STEP})`),
    )
    this.recordMoves = ['<', '>'].map((side) =>
      connection.prepare(`
        UPDATE holdfast_records SET boot = ?1, at = ?2, expires_at = ?2 + expires_wall - ?3,
          forget_at = CASE WHEN value IS NOT NULL AND expires_at IS NULL THEN NULL
            ELSE ?2 + max(coalesce(expires_wall, ?3) - ?3, 0) + ?4 END
        WHERE key IN (SELECT key FROM holdfast_records WHERE boot ${side} ?1 LIMIT ${ROWS_PER_STEP})`),
    )
  }

  /** Called after every call that may have written. */
  count(): void {
    if (++this.calls % CALLS_PER_STEP === 0) this.step()
  }

  /** Says how many rows were removed. */
  step(): number {
    let removed = 0
    try {
      const nowMs = this.clock.nowMs()
      for (const forget of this.forgets) removed += Number(forget.run(this.clock.bootId, nowMs).changes)
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
    for (const move of this.keyMoves)
      moved += Number(move.run(bootId, nowMs, nowMs + RULES.keepSeqMs).changes)
    for (const move of this.recordMoves) {
      moved += Number(move.run(bootId, nowMs, this.clock.wallMs(), RULES.keepSeqMs).changes)
    }
    return moved > 0
  }
}
