import { type Outcome, outcomeOf } from '../contest.ts'
import { nowNs } from '../now.ts'
import { timesOlder } from '../older.ts'
import { inTurn, type Measured } from '../redis/rounds.ts'
import type { Row } from '../result.ts'
import { median, quantile } from '../statistics.ts'
import type { Session } from './session.ts'
import { BARE } from './subject.ts'
import { contendersOf } from './visits.ts'

// Many short rounds: what else the machine does lasts longer than one, so it hardly touches their ratios.
const SHORT = { rounds: 15, warmUps: 3, lastsMs: 150 }
const LONG = { rounds: 5, warmUps: 1, lastsMs: 1_500 }
const TINY = { rounds: 1, warmUps: 0, lastsMs: 50 }
const NANOSECONDS_PER_MS = 1e6
/** Until every process has been told that it begins. */
const HEAD_START_MS = 20

export const FIGURES = {
  rate: 'per second',
  ratio: 'times bare',
  handOff50: 'hand-off p50 ms',
  handOff99: 'hand-off p99 ms',
  trip50: 'round trip p50 ms',
  trip99: 'round trip p99 ms',
} as const

/** Locks that nobody else wants, `width` at once. */
export async function uncontended(
  session: Session,
  workload: string,
  keys: number,
  width: number,
): Promise<Measured> {
  const plan = session.tiny ? TINY : SHORT
  const measured = await inTurn(session.subjects('bare', 'ours', 'older', 'peer'), plan, (subject) =>
    laps(session, subject, keys, width, plan.lastsMs),
  )
  return { rows: rowsOf(workload, measured), overlaps: overlapsOf(measured) }
}

/** One key that many of one process want, beside the bare pair one after the other. */
export async function waiters(session: Session, workload: string, count: number): Promise<Measured> {
  const plan = session.tiny ? TINY : SHORT
  const measured = await inTurn(session.subjects('bare', 'ours', 'older', 'peer'), plan, async (subject) => {
    if (subject === BARE) return laps(session, subject, 64, 1, plan.lastsMs)
    const worker = await session.worker(subject, subject)
    const span = spanOf(plan.lastsMs)
    const done = await worker.tell('line', { subject, waiters: count, workMs: 0, ...span })
    const outcome = outcomeOf(contendersOf(done, null), span)
    return { ...outcome, clientMicroseconds: done.cpuMicroseconds / outcome.waitsMs.length }
  })
  return { rows: rowsOf(workload, measured), overlaps: overlapsOf(measured) }
}

/** One key that processes at all members want, and beside them one that only asks how long a write takes meanwhile. */
export async function processes(session: Session, workload: string, full: number): Promise<Measured> {
  const plan = session.tiny ? { ...TINY, lastsMs: 300 } : LONG
  const count = session.tiny ? 2 : full
  const measured = await inTurn(session.subjects('ours', 'older', 'peer'), plan, async (subject) => {
    const probe = await session.worker('probe', BARE)
    const places = Array.from({ length: count }, (_, place) => place)
    const workers = await Promise.all(
      places.map((place) => session.worker(`shared ${place}`, subject, place)),
    )
    const span = spanOf(plan.lastsMs)
    const tripping = probe.tell('trips', { subject: BARE, endNs: span.endNs })
    const order = { subject, waiters: 1, workMs: 1, ...span }
    const done = await Promise.all(workers.map((worker) => worker.tell('line', order)))
    const contenders = done.flatMap((each, place) => contendersOf(each, place))
    return { ...outcomeOf(contenders, span), tripsMs: [...(await tripping)] }
  })
  const rows = [...measured].map(([subject, rounds]) => ({
    workload,
    subject,
    figures: {
      ...crossingFigures(rounds),
      ...timesOlder(measured, subject, ({ perSecond }) => perSecond),
    },
  }))
  return { rows, overlaps: overlapsOf(measured) }
}

interface Round {
  readonly perSecond: number
  readonly overlaps: number
  readonly clientMicroseconds: number
}

async function laps(
  session: Session,
  subject: string,
  keys: number,
  width: number,
  lastsMs: number,
): Promise<Round> {
  const worker = await session.worker(subject, subject)
  const { done, tookMs, cpuMicroseconds, overlaps } = await worker.tell('laps', {
    subject,
    keys,
    width,
    leadMs: 0,
    lastsMs,
  })
  return { perSecond: (done / tookMs) * 1000, clientMicroseconds: cpuMicroseconds / done, overlaps }
}

function spanOf(lastsMs: number): { startNs: number; endNs: number } {
  const startNs = nowNs() + HEAD_START_MS * NANOSECONDS_PER_MS
  return { startNs, endNs: startNs + lastsMs * NANOSECONDS_PER_MS }
}

/** Each rate beside the bare pair's of the same round; the middle of all rounds counts. */
function rowsOf(workload: string, measured: ReadonlyMap<string, readonly Round[]>): Row[] {
  const bare = measured.get(BARE) ?? []
  return [...measured].map(([subject, rounds]) => ({
    workload,
    subject,
    figures: {
      [FIGURES.ratio]: median(
        rounds.map(({ perSecond }, round) => perSecond / (bare[round]?.perSecond ?? Number.NaN)),
      ),
      ...timesOlder(measured, subject, ({ perSecond }) => perSecond),
      [FIGURES.rate]: median(rounds.map(({ perSecond }) => perSecond)),
      'client CPU µs': median(rounds.map(({ clientMicroseconds }) => clientMicroseconds)),
    },
  }))
}

function crossingFigures(rounds: readonly (Outcome & { tripsMs: number[] })[]): Record<string, number> {
  const handOffsMs = rounds.flatMap((round) => round.handOffsMs)
  const tripsMs = rounds.flatMap((round) => round.tripsMs)
  const waitsMs = rounds.flatMap((round) => round.waitsMs)
  return {
    [FIGURES.rate]: median(rounds.map(({ perSecond }) => perSecond)),
    [FIGURES.handOff50]: quantile(handOffsMs, 0.5),
    [FIGURES.handOff99]: quantile(handOffsMs, 0.99),
    [FIGURES.trip50]: quantile(tripsMs, 0.5),
    [FIGURES.trip99]: quantile(tripsMs, 0.99),
    'wait p99 ms': quantile(waitsMs, 0.99),
    'crossing %': 100 * median(rounds.map(({ crossing }) => crossing)),
    "fairness (Jain's)": median(rounds.map(({ fairness }) => fairness)),
  }
}

function overlapsOf(measured: ReadonlyMap<string, readonly { overlaps: number }[]>): number {
  return [...measured.values()].flat().reduce((sum, { overlaps }) => sum + overlaps, 0)
}
