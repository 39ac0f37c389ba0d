import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { startMariadb } from '../scripts/servers/mariadb.ts'
import { startPostgres } from '../scripts/servers/postgres.ts'
import { type Outcome, outcomeOf, type Start, type Visit } from './contest.ts'
import type { Bench, Context } from './context.ts'
import type { Order, Rates } from './databases/orders.ts'
import {
  ADVISORY,
  ADVISORY_LOCK,
  BARE,
  type DatabaseName,
  LEASE,
  LEASES,
  RING,
  SUBJECTS,
  VERROU,
} from './databases/subjects.ts'
import { nowNs } from './now.ts'
import { olderTargets, timesOlder } from './older.ts'
import { peerVersions } from './peers.ts'
import type { Result, Row, Target } from './result.ts'
import { median, quantile } from './statistics.ts'

export const DATABASE_PROGRAM = new URL('./programs/database.ts', import.meta.url)

const DATABASES: readonly DatabaseName[] = ['PostgreSQL', 'MariaDB']
const RATE = 'per second'
const RATIO = 'times the bare lock'
const P99 = 'hand-off p99 ms'
const PROCESSES = 8
/** How often they contend, all subjects in turn. */
const CONTESTS = 3
const LIBRARIES: readonly string[] = [ADVISORY_LOCK, ...VERROU]
const PACKAGES = ['advisory-lock', '@verrou/core', 'knex', 'kysely']
const PARTS = ['alone', 'waiters', 'processes']

const NOTES = [
  'Bare: pg_advisory_lock and its unlock, or GET_LOCK and RELEASE_LOCK, on a connection out of a pool, and nothing else. Commits wait for the disk.',
  'Alone: one task takes and gives back one key. Waiters: fifty tasks of one process on one key, no work. Peers look again every 5 ms where one can say so.',
  'Processes: one task in each of eight, on one key, 1 ms of work. Hand-off: from leaving to the entry of another process.',
  'A ring of NOTIFY is no lock: whoever leaves writes a row and tells the next one, which is the least that a hand-off by NOTIFY takes.',
]

export const ADVISORY_BENCH: Bench = { run, judge }

const workloadOf = (database: DatabaseName, part: string): string =>
  ({
    alone: `${database}, one after the other`,
    waiters: `${database}, 50 waiters in one process`,
    processes: `${database}, ${PROCESSES} processes, 1 ms of work`,
  })[part] as string

async function run({ bundle, size, only, progress }: Context): Promise<Result> {
  const unknown = only?.filter((part) => !PARTS.includes(part)) ?? []
  if (unknown.length > 0) throw new Error(`--only knows ${PARTS.join(', ')} here`)
  const rows: Row[] = []
  let overlaps = 0
  const wanted = (part: string) => only === undefined || only.includes(part)
  for (const database of DATABASES) {
    const server = await (database === 'PostgreSQL' ? startPostgres : startMariadb)({ durable: true })
    const program = bundle.path(DATABASE_PROGRAM)
    const shape =
      size === 'tiny' ? { rounds: 1, roundMs: 20, warmUps: 1 } : { rounds: 5, roundMs: 1000, warmUps: 2000 }
    const order = (part: Order['part'], subjects: readonly string[]): Order => ({
      ...shape,
      // Fifty that look again and again take many seconds until the last of them has had its turn.
      ...(part === 'waiters' ? { rounds: 1 } : {}),
      database,
      url: server.url,
      part,
      seat: { place: 0, places: 1 },
      subjects: subjects.filter(
        (subject) =>
          Object.hasOwn(SUBJECTS[database], subject) && (size === 'full' || !LIBRARIES.includes(subject)),
      ),
    })
    try {
      for (const [part, subjects] of [
        ['alone', [BARE, ADVISORY, ADVISORY_LOCK]],
        ['waiters', [ADVISORY, ...LEASES, ADVISORY_LOCK, ...VERROU]],
      ] as const) {
        if (!wanted(part)) continue
        progress(`advisory: ${database}, ${part}`)
        rows.push(...ratesOf(workloadOf(database, part), await measure(program, order(part, subjects))))
      }
      if (wanted('processes')) {
        const contenders = new Map<string, Outcome[]>()
        for (const subject of [BARE, ...LEASES, ADVISORY, RING]) {
          if (!Object.hasOwn(SUBJECTS[database], subject)) continue
          contenders.set(subject, [])
        }
        for (let round = 0; round < (size === 'tiny' ? 1 : CONTESTS); round++) {
          const inTurn = [...contenders]
          for (const [subject, outcomes] of round % 2 === 0 ? inTurn : inTurn.toReversed()) {
            progress(`advisory: ${database}, processes, ${subject}`)
            const contend = { ...order('contender', [subject]), rounds: size === 'tiny' ? 1 : 2 }
            outcomes.push(await contest(program, contend, size === 'tiny' ? 2 : PROCESSES))
          }
        }
        for (const [subject, outcomes] of contenders) {
          const figures = {
            ...figuresOf(outcomes),
            ...timesOlder(contenders, subject, ({ perSecond }) => perSecond),
          }
          rows.push({ workload: workloadOf(database, 'processes'), subject, figures })
          overlaps += outcomes.reduce((sum, outcome) => sum + outcome.overlaps, 0)
        }
      }
    } finally {
      await server.stop()
    }
  }
  const versions = Object.entries(peerVersions()).filter(([name]) => PACKAGES.includes(name))
  return { notes: NOTES, rows, targets: judge(rows), overlaps, versions: Object.fromEntries(versions) }
}

function ratesOf(workload: string, rates: Rates): Row[] {
  const bare = rates[BARE]
  const bySubject = new Map(Object.entries(rates))
  return Object.entries(rates).map(([subject, all]) => {
    const ratio =
      bare === undefined ? Number.NaN : median(all.map((rate, round) => rate / (bare[round] as number)))
    return {
      workload,
      subject,
      figures: {
        [RATE]: median(all),
        ...(bare === undefined ? {} : { [RATIO]: ratio }),
        ...timesOlder(bySubject, subject, (rate) => rate),
      },
    }
  })
}

async function measure(program: string, order: Order): Promise<Rates> {
  const child = fork(program, [JSON.stringify(order)], { execArgv: [] })
  const [rates] = (await Promise.race([once(child, 'message'), failed(child)])) as [Rates]
  await over(child)
  return rates
}

async function contest(program: string, order: Order, processes: number): Promise<Outcome> {
  const children = Array.from({ length: processes }, (_, place) =>
    fork(program, [JSON.stringify({ ...order, seat: { place, places: processes } })], { execArgv: [] }),
  )
  try {
    await Promise.all(children.map((child) => Promise.race([once(child, 'message'), failed(child)])))
    const startNs = nowNs() + 20e6
    const start: Start = { startNs, endNs: startNs + order.rounds * order.roundMs * 1e6 }
    const visits = await Promise.all(
      children.map(async (child) => {
        child.send(start)
        const [told] = (await Promise.race([once(child, 'message'), failed(child)])) as [Visit[]]
        return told
      }),
    )
    return outcomeOf(
      visits.map((each, place) => ({ place, visits: each })),
      start,
    )
  } finally {
    await Promise.all(children.map(over))
  }
}

function figuresOf(outcomes: readonly Outcome[]): Record<string, number> {
  const handOffsMs = outcomes.flatMap((outcome) => outcome.handOffsMs)
  return {
    [RATE]: median(outcomes.map(({ perSecond }) => perSecond)),
    'hand-off p50 ms': quantile(handOffsMs, 0.5),
    [P99]: quantile(handOffsMs, 0.99),
    "fairness (Jain's)": median(outcomes.map(({ fairness }) => fairness)),
  }
}

async function failed(child: ChildProcess): Promise<never> {
  const [code, signal] = await once(child, 'exit')
  throw new Error(`a process of the benchmark ended with ${code ?? signal}`)
}

/** Some libraries leave connections open that nobody can close. */
async function over(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

function judge(rows: readonly Row[]): Target[] {
  const targets: Target[] = []
  const value = (database: DatabaseName, part: string, subject: string, figure: string) =>
    rows.find((row) => row.workload === workloadOf(database, part) && row.subject === subject)?.figures[
      figure
    ]
  const judged = (what: string, found: number | undefined, bound: Target['bound']): void => {
    if (found !== undefined && !Number.isNaN(found)) targets.push({ what, value: found, bound })
  }
  for (const database of DATABASES) {
    const rate = (part: string, subject: string) => value(database, part, subject, RATE)
    const alone = workloadOf(database, 'alone')
    judged(`${alone}: advisory, times the bare lock`, value(database, 'alone', ADVISORY, RATIO), {
      atLeast: 0.85,
    })
    judged(
      `${alone}: advisory, times ${ADVISORY_LOCK}`,
      quotient(rate('alone', ADVISORY), rate('alone', ADVISORY_LOCK)),
      { atLeast: 10 },
    )
    const peers = LIBRARIES.map((peer) => rate('waiters', peer) ?? 0)
    for (const own of [ADVISORY, LEASE])
      judged(
        `${workloadOf(database, 'waiters')}: ${own}, times the best peer`,
        quotient(rate('waiters', own), Math.max(...peers) || undefined),
        { atLeast: 10 },
      )
  }
  const processes = workloadOf('PostgreSQL', 'processes')
  const [own, bare] = [LEASE, BARE].map((subject) => value('PostgreSQL', 'processes', subject, RATE))
  judged(`${processes}: leases, times bare advisory locks`, quotient(own, bare), { atLeast: 0.9 })
  judged(`${processes}: leases, ${P99}`, value('PostgreSQL', 'processes', LEASE, P99), { atMost: 10 })
  return [...targets, ...olderTargets(rows, LEASE)]
}

function quotient(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one / other
}
