import { timesOlder } from '../older.ts'
import { median } from '../statistics.ts'
import { inTurn, type Measured, ratioToBase } from './rounds.ts'
import type { Session } from './session.ts'
import type { Part } from './subject.ts'

// Many short rounds: what else the machine does lasts longer than one, so it hardly touches their ratios.
// A process that takes locks lives for longer than its code needs to be compiled.
const FULL = { rounds: 25, warmUps: 30 }
const TINY = { rounds: 1, warmUps: 0 }
const ROUND_MS = 60
const LEAD_MS = 20

export interface Lap {
  readonly workload: string
  readonly part: Part
  readonly keys: number
  readonly width: number
}

interface Round {
  readonly perSecond: number
  readonly clientMicroseconds: number
  readonly serverMicroseconds: number
  readonly commands: number
  readonly overlaps: number
}

/** Locks that nobody else wants. */
export async function uncontended(session: Session, lap: Lap): Promise<Measured> {
  const { workload, part, keys, width } = lap
  const tiny = session.size === 'tiny'
  const measured = await inTurn(
    session.subjects(part),
    tiny ? TINY : FULL,
    async (subject): Promise<Round> => {
      const worker = await session.worker(subject, subject)
      const times = tiny ? { leadMs: 0, lastsMs: 20 } : { leadMs: LEAD_MS, lastsMs: ROUND_MS }
      const order = { subject, keys, width, ...times }
      const { answer, counted } = await session.counters.of(() => worker.tell('laps', order))
      const { all, done, tookMs, cpuMicroseconds, overlaps } = answer
      return {
        perSecond: (done / tookMs) * 1000,
        clientMicroseconds: cpuMicroseconds / done,
        serverMicroseconds: counted.serverMicroseconds / all,
        commands: session.commands(subject, counted.calls) / all,
        overlaps,
      }
    },
  )
  const rows = [...measured].map(([subject, rounds]) => ({
    workload,
    subject,
    figures: {
      'times raw': ratioToBase(measured, subject),
      ...timesOlder(measured, subject, ({ perSecond }) => perSecond),
      'per second': median(rounds.map((round) => round.perSecond)),
      commands: median(rounds.map((round) => round.commands)),
      'client CPU µs': median(rounds.map((round) => round.clientMicroseconds)),
      'server CPU µs': median(rounds.map((round) => round.serverMicroseconds)),
    },
  }))
  return { rows, overlaps: [...measured.values()].flat().reduce((sum, { overlaps }) => sum + overlaps, 0) }
}
