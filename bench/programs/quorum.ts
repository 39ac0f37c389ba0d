import { OLDER_NAMES, timesOlder } from '../older.ts'
import { ALL_WELL, BARE, OURS, openSubject, PEERS, type QuorumSubject } from '../quorum/subjects.ts'
import { targetsOf, WORKLOADS } from '../quorum/targets.ts'
import { emit, type Row, type Size } from '../result.ts'
import { median, quantile } from '../statistics.ts'

interface Servers {
  readonly urls: readonly string[]
  readonly pids: readonly number[]
}

interface Order {
  readonly size: Size
  /** The parts that are wanted. */
  readonly parts: readonly string[]
  readonly well: Servers
  /** The servers of which one will fail. */
  readonly ill: Servers
}

interface Round {
  readonly perSecond: number
  readonly tookMs: readonly number[]
}

/** One round of a subject. */
interface Shape {
  readonly tasks: number
  readonly rounds: number
  /** Rounds before them that do not count. */
  readonly warmUps: number
  readonly roundMs: number
}

const { size, parts, well, ill } = JSON.parse(process.argv[2] as string) as Order
const tiny = size === 'tiny'
const names = [OURS, ...OLDER_NAMES, ...(tiny ? [] : PEERS)]
// A process that takes locks lives for longer than its code needs to be compiled.
const WELL: Shape = { tasks: 1, rounds: tiny ? 1 : 9, warmUps: tiny ? 1 : 12, roundMs: tiny ? 50 : 250 }
const MANY: Shape = { ...WELL, tasks: 100 }
/** Some take seconds for one lock when a server does not answer: fewer rounds, or it would never end. */
const ILL: Shape = { ...WELL, rounds: tiny ? 1 : 5, warmUps: 1 }
/** Before anything is measured: connections, and code that is compiled while it runs. */
const WARM_UP: Shape = { tasks: 100, rounds: 1, warmUps: 0, roundMs: tiny ? 50 : 1000 }
const inside = new Set<string>()
const rows: Row[] = []
let overlaps = 0

if (parts.includes('sequential') || parts.includes('keys')) {
  const subjects = await opened([...names, BARE], well)
  if (parts.includes('sequential')) await compare(WORKLOADS.sequential, subjects, WELL)
  if (parts.includes('keys')) await compare(WORKLOADS.keys, subjects, MANY)
  await closed(subjects)
}
if (parts.includes('stopped') || parts.includes('killed')) {
  const subjects = await opened(names, ill)
  // Beside those that lost a server: the same without a loss, in the same moments of the machine.
  for (const [, whole] of await opened([OURS], well)) subjects.set(ALL_WELL, whole)
  const last = ill.pids.at(-1) as number
  process.kill(last, 'SIGSTOP')
  if (parts.includes('stopped')) await compare(WORKLOADS.stopped, subjects, ILL)
  process.kill(last, 'SIGKILL')
  if (parts.includes('killed')) await compare(WORKLOADS.killed, subjects, ILL)
  await closed(subjects)
}
emit({ rows, targets: targetsOf(rows), overlaps })

async function opened(all: readonly string[], { urls }: Servers): Promise<Map<string, QuorumSubject>> {
  const subjects = new Map<string, QuorumSubject>()
  for (const name of all) {
    const subject = await openSubject(name, urls)
    await measure(subject, WARM_UP)
    subjects.set(name, subject)
  }
  return subjects
}

async function closed(subjects: ReadonlyMap<string, QuorumSubject>): Promise<void> {
  for (const subject of subjects.values()) await subject.close()
}

async function compare(
  workload: string,
  subjects: ReadonlyMap<string, QuorumSubject>,
  shape: Shape,
): Promise<void> {
  const order = [...subjects.keys()]
  const rounds = new Map<string, Round[]>(order.map((name) => [name, []]))
  for (let round = -shape.warmUps; round < shape.rounds; round++) {
    for (const name of round % 2 === 0 ? order : order.toReversed()) {
      const measured = await measure(subjects.get(name) as QuorumSubject, shape)
      if (round >= 0) rounds.get(name)?.push(measured)
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
        ...timesOlder(rounds, subject, ({ perSecond }) => perSecond),
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
