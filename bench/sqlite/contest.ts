import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Start } from '../contest.ts'
import { nowNs } from '../now.ts'
import { type Account, type Outcome, outcomeOf } from './outcome.ts'
import type { Seat, SubjectName } from './subjects.ts'

/** The settings that all subjects share. */
export interface Contest {
  readonly subject: SubjectName
  readonly processes: number
  /** How many in each process ask, come in and go out, again and again, without a pause. */
  readonly tasks: number
  /** True if all of them want the same key; otherwise each has its own. */
  readonly keys: 'one' | 'own'
  /** How long each stays inside. */
  readonly workMs: number
  readonly warmUpMs: number
  readonly lastsMs: number
}

/** The order to one process. */
export type Order = Contest & { readonly folder: string; readonly seat: Seat }

const NANOSECONDS_PER_MS = 1e6

/** Lets processes of `program` contend. */
export async function contend(program: string, contest: Contest): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  const places = contest.processes
  const children = Array.from({ length: places }, (_, place) => {
    const order: Order = { ...contest, folder, seat: { place, places } }
    return fork(program, [JSON.stringify(order)], { execArgv: [] })
  })
  try {
    await Promise.all(children.map((child) => once(child, 'message')))
    const startNs = nowNs() + 20 * NANOSECONDS_PER_MS
    const start: Start = { startNs, endNs: startNs + contest.lastsMs * NANOSECONDS_PER_MS }
    const accounts = await Promise.all(children.map((child) => compete(child, start)))
    return outcomeOf(accounts, start, contest.keys === 'one')
  } finally {
    const exits = children.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit'))
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(exits)
    rmSync(folder, { recursive: true, force: true })
  }
}

async function compete(child: ChildProcess, start: Start): Promise<Account> {
  child.send(start)
  const [account] = (await once(child, 'message')) as [Account]
  return account
}
