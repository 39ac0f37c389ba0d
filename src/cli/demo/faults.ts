import { setTimeout as sleep } from 'node:timers/promises'
import type { Workers } from './crew.ts'
import type { SaleLedger } from './ledger.ts'
import { SALE } from './messages.ts'

const KILLED = 3
const PAUSED = 6
const KILL_AFTER_SALES = 30
const PAUSE_AFTER_SALES = 60
const SALES_DURING_PAUSE = 5
const PAUSE_MS = SALE.ttlMs * 1.5

/** Kills one worker in the middle of a sale, and pauses another in the middle of one for longer than its lease. */
export async function strike(crew: Workers, ledger: SaleLedger): Promise<void> {
  await ledger.sold(KILL_AFTER_SALES)
  const killed = await crew.trap(KILLED)
  crew.signal(KILLED, 'SIGKILL')
  const killedAt = `worker ${KILLED} is killed with the lock in its hands, about to sell unit ${killed.unit}`
  ledger.note({ kind: 'killed', worker: KILLED, atMs: Date.now(), text: killedAt })

  await ledger.sold(PAUSE_AFTER_SALES)
  const paused = await crew.trap(PAUSED)
  crew.signal(PAUSED, 'SIGSTOP')
  const pausedAt = `worker ${PAUSED} is paused with the lock in its hands, about to sell unit ${paused.unit}`
  ledger.note({ kind: 'paused', worker: PAUSED, atMs: Date.now(), text: pausedAt })
  // It reads this when it is resumed, and continues as if no time had passed.
  crew.free(PAUSED)
  await Promise.all([sleep(PAUSE_MS), ledger.sold(ledger.sales.length + SALES_DURING_PAUSE)])
  const wokenAt = `worker ${PAUSED} wakes up and goes on as if no time had passed`
  ledger.note({ kind: 'woken', worker: PAUSED, atMs: Date.now(), text: wokenAt })
  crew.signal(PAUSED, 'SIGCONT')
}
