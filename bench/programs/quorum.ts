import { OURS, openSubject, PEERS, type QuorumSubject } from '../quorum/subjects.ts'
import { targetsOf } from '../quorum/targets.ts'
import { emit, type Row, type Size } from '../result.ts'
import { median, quantile } from '../statistics.ts'

interface Order {
  readonly size: Size
  readonly urls: readonly string[]
  readonly pids: readonly number[]
}

interface Round {
  readonly perSecond: number
  readonly tookMs: readonly number[]
}

/** What one round of a subject is. */
interface Shape {
  readonly tasks: number
  readonly rounds: number
  readonly roundMs: number
}

const { size, urls, pids } = JSON.parse(process.argv[2] as string) as Order
const tiny = size === 'tiny'
const names = tiny ? [OURS] : [OURS, ...PEERS]
const WELL: Shape = { tasks: 1, rounds: tiny ? 1 : 9, roundMs: tiny ? 50 : 250 }
const MANY: Shape = { ...WELL, tasks: 100 }
/** Some take seconds for one lock when a server does not answer: fewer rounds, or it would never end. */
const ILL: Shape = { ...WELL, rounds: tiny ? 1 : 3 }
const inside = new Set<string>()
let overlaps = 0

const subjects = new Map<string, QuorumSubject>()
for (const name of names) subjects.set(name, await openSubject(name, urls))
const rows: Row[] = []
await compare('five servers, one lock after the other', WELL)
await compare('five servers, 100 keys at once', MANY)
const last = pids.at(-1) as number
process.kill(last, 'SIGSTOP')
await compare('one of five servers stopped, one lock after the other', ILL)
process.kill(last, 'SIGKILL')
await compare('one of five servers killed, one lock after the other', ILL)
for (const subject of subjects.values()) await subject.close()
emit({ rows, targets: targetsOf(rows), overlaps })

async function compare(workload: string, shape: Shape): Promise<void> {
  const rounds = new Map<string, Round[]>(names.map((name) => [name, []]))
  for (let round = 0; round <= shape.rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const measured = await measure(subjects.get(name) as QuorumSubject, shape)
      // The first round warms up.
      if (round > 0) rounds.get(name)?.push(measured)
    }
  }
  const ours = rounds.get(OURS) ?? []
  for (const [subject, theirs] of rounds) {
    const tookMs = theirs.flatMap((round) => round.tookMs)
    const ratios = ours.map((own, index) => own.perSecond / (theirs[index]?.perSecond ?? Number.NaN))
    rows.push({
      workload,
      subject,
      figures: {
        'per second': median(theirs.map(({ perSecond }) => perSecond)),
        'p50 ms': quantile(tookMs, 0.5),
        'p99 ms': quantile(tookMs, 0.99),
        'holdfast, times this': median(ratios),
      },
    })
  }
}

async function measure({ run }: QuorumSubject, { tasks, roundMs }: Shape): Promise<Round> {
  const tookMs: number[] = []
  const startedAtMs = performance.now()
  const task = async (key: string): Promise<void> => {
    while (performance.now() - startedAtMs < roundMs) {
      const askedAtMs = performance.now()
      try {
        await run(key, () => watched(key))
        tookMs.push(performance.now() - askedAtMs)
      } catch {
        // It gave up; what it did not get does not count.
      }
    }
  }
  await Promise.all(Array.from({ length: tasks }, (_, index) => task(`key-${index}`)))
  return { perSecond: (tookMs.length / (performance.now() - startedAtMs)) * 1000, tookMs }
}

async function watched(key: string): Promise<void> {
  if (inside.has(key)) overlaps++
  inside.add(key)
  await null
  inside.delete(key)
}
