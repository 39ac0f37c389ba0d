import type { Result, Row, Target } from '../result.ts'
import { median } from '../statistics.ts'
import { inTurn, ratioToBase } from './rounds.ts'
import type { Session } from './session.ts'

interface Round {
  readonly perSecond: number
  readonly clientMicroseconds: number
  readonly serverMicroseconds: number
  readonly commands: number
  readonly overlaps: number
}

export interface Width {
  readonly name: string
  readonly keys: number
  readonly width: number
  readonly bounds: Readonly<Record<string, number>>
}

/** One after the other, and never the same key twice in a row. */
export const SEQUENTIAL: Width = {
  name: 'one after the other',
  keys: 64,
  width: 1,
  bounds: { holdfast: 0.93, 'holdfast, background release': 1.25 },
}
export const HUNDRED: Width = { name: '100 keys at once', keys: 100, width: 100, bounds: { holdfast: 2 } }
export const THOUSAND: Width = {
  name: '1,000 keys at once',
  keys: 1000,
  width: 1000,
  bounds: { holdfast: 3.5 },
}

/** Locks that nobody else wants. */
export async function uncontended(session: Session, { name, keys, width, bounds }: Width): Promise<Result> {
  const tiny = session.size === 'tiny'
  const lastsMs = tiny ? 20 : 60
  const subjects = session.subjects.filter((subject) => width === 1 || !subject.includes('background'))
  const measured = await inTurn(subjects, tiny ? TINY : FULL, async (subject): Promise<Round> => {
    const worker = session.worker(subject)
    await worker.tell('open', { subject })
    const { answer, counted } = await session.counters.of(() =>
      worker.tell('laps', { subject, keys, width, lastsMs }),
    )
    const { done, tookMs, cpuMicroseconds, overlaps } = answer
    return {
      perSecond: (done / tookMs) * 1000,
      clientMicroseconds: cpuMicroseconds / done,
      serverMicroseconds: counted.serverMicroseconds / done,
      commands: session.commands(subject, counted.calls) / done,
      overlaps,
    }
  })
  const rows: Row[] = [...measured].map(([subject, rounds]) => ({
    workload: `Redis, ${name}`,
    subject,
    figures: {
      'times raw': ratioToBase(measured, subject),
      'per second': median(rounds.map((round) => round.perSecond)),
      commands: median(rounds.map((round) => round.commands)),
      'client CPU µs': median(rounds.map((round) => round.clientMicroseconds)),
      'server CPU µs': median(rounds.map((round) => round.serverMicroseconds)),
    },
  }))
  const targets: Target[] = rows.flatMap(({ workload, subject, figures }) => {
    const atLeast = bounds[subject]
    return atLeast === undefined
      ? []
      : [
          {
            what: `${workload}: ${subject}, times raw`,
            value: figures['times raw'] as number,
            bound: { atLeast },
          },
        ]
  })
  const overlaps = [...measured.values()].flat().reduce((sum, round) => sum + round.overlaps, 0)
  return { rows, targets, overlaps }
}

// Many short rounds: what else the machine does lasts longer than one, so it hardly touches their ratios.
const FULL = { rounds: 30, warmUps: 6 }
const TINY = { rounds: 1, warmUps: 0 }
