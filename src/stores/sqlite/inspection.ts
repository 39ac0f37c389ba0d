import type { Fact, Remains } from '../../core/facts.ts'
import { type KeyState, lastLifeMs } from '../../model/index.ts'
import type { SqliteStatement } from './binding.ts'
import type { BootClock } from './boot.ts'
import { SqliteCleaner } from './cleaner.ts'
import type { SqliteConnection } from './connection.ts'

const TABLES = ['holdfast_locks', 'holdfast_records']
const ROWS = 'rows that need not be remembered any more'
/** How many small steps of clean-up are made before others have their turn. */
const STEPS = 20

/** What lies in the file that nobody needs. There is no server: the file is Holdfast's own, and its clock the machine's. */
export class SqliteInspection {
  private readonly clock: BootClock
  private readonly cleaner: SqliteCleaner
  private readonly due: readonly SqliteStatement[]

  constructor(connection: SqliteConnection, clock: BootClock) {
    this.clock = clock
    this.cleaner = new SqliteCleaner(connection, clock)
    this.due = TABLES.map((table) =>
      connection.prepare(`SELECT count(*) AS count FROM ${table} WHERE boot = ? AND forget_at <= ?`),
    )
  }

  overdue(deadForMs: number): Fact[] {
    const untilMs = this.clock.nowMs() - deadForMs
    const found = this.due.map((statement, at) => {
      const { count } = statement.get(this.clock.bootId, untilMs) as { readonly count: number }
      return orphan(TABLES[at] as string, ROWS, Number(count), null)
    })
    return [...found.filter(({ count }) => count > 0), ...UNSEEN]
  }

  dead(key: string, state: KeyState, nowMs: number, deadForMs: number): Fact[] {
    const endedMs = lastLifeMs(state)
    if (endedMs === null || nowMs - endedMs <= deadForMs) return []
    return [orphan(key, 'a lock whose holders and waiters are all dead', 1, nowMs - endedMs)]
  }

  isRows({ what }: Remains): boolean {
    return what === ROWS
  }

  clean(): boolean {
    let all = 0
    for (let step = 0; step < STEPS; step++) {
      const removed = this.cleaner.step()
      all += removed
      if (removed === 0) break
    }
    return all > 0
  }
}

const UNSEEN: readonly Fact[] = [
  { kind: 'unseen', what: 'foreign locks', why: 'nobody but Holdfast writes to its file' },
]

function orphan(name: string, what: string, count: number, idleMs: number | null): Remains {
  return { kind: 'orphan', name, what, count, blocking: false, idleMs, proof: '' }
}
