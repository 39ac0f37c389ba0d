import { setTimeout as sleep } from 'node:timers/promises'
import { OLDER_NAMES, timesOlder } from '../older.ts'
import type { Row } from '../result.ts'
import type { Measured } from './rounds.ts'
import type { Session } from './session.ts'

const TTL_MS = 3_000
const CPU = 'CPU ms/s above idle'
/** Keys that a rival asks for before they are let go: it must not get one earlier. */
const RIVALS = 20
const RIVAL_MS = 100
/** The libraries that renew by themselves, forks that equal their origin left out. Others leave renewal to their users. */
const RENEWING = [
  'holdfast',
  ...OLDER_NAMES,
  'holdfast (node-redis)',
  'redlock 5',
  'redis-semaphore',
  'redlock-universal',
]

/** Many leases that are only kept. */
export async function leases(session: Session, workload: string): Promise<Measured> {
  const subjects = session.subjects('leases').filter((subject) => RENEWING.includes(subject))
  const parts: { row: Row; overlaps: number }[] = []
  for (const subject of subjects) parts.push(await keptBy(session, subject, workload))
  const costs = new Map(parts.map(({ row }) => [row.subject, [row.figures]]))
  return {
    rows: parts.map(({ row }) => ({
      ...row,
      figures: { ...row.figures, ...timesOlder(costs, row.subject, (figures) => 1 / (figures[CPU] ?? 0)) },
    })),
    overlaps: parts.reduce((sum, { overlaps }) => sum + overlaps, 0),
  }
}

async function keptBy(
  session: Session,
  subject: string,
  workload: string,
): Promise<{ row: Row; overlaps: number }> {
  const { keys, idleMs, heldMs } = session.size === 'tiny' ? TINY : FULL
  // A fresh process each, with nothing of earlier workloads on its heap.
  const holder = await session.worker(`${subject}, holder`, subject)
  const rival = await session.worker('shared 0', subject)
  const idle = await holder.tell('rest', { subject, lastsMs: idleMs })
  await holder.tell('take', { subject, keys, ttlMs: TTL_MS })
  const { answer, counted } = await session.counters.of(() =>
    holder.tell('rest', { subject, lastsMs: heldMs }),
  )
  const wanted = Array.from({ length: RIVALS }, (_, index) => Math.floor((index * keys) / RIVALS))
  const entering = rival.tell('rival', { subject, keys: wanted })
  await sleep(RIVAL_MS)
  const { atNs, lost } = await holder.tell('letGo', { subject })
  const enteredNs = await entering
  const row: Row = {
    workload,
    subject,
    figures: {
      [CPU]: answer.cpuMsPerSecond - idle.cpuMsPerSecond,
      'server CPU ms/s': counted.serverMicroseconds / heldMs,
      'calls per second': (session.commands(subject, counted.calls) / heldMs) * 1000,
      'loop delay p99 ms': answer.delayP99Ms,
      'loop delay max ms': answer.delayMaxMs,
      lost,
    },
  }
  return { row, overlaps: enteredNs.filter((ns) => ns < atNs).length }
}

const FULL = { keys: 10_000, idleMs: 500, heldMs: 10_000 }
const TINY = { keys: 200, idleMs: 50, heldMs: 300 }
