import { createRequire } from 'node:module'
import * as asyncMutex from 'async-mutex'
import { createLocks } from 'holdfast'
import { memory } from 'holdfast/memory'
import { older } from '../library.ts'
import { OLDER, olderEntry, olderTargets, timesOlder } from '../older.ts'
import { emit, type Result, type Size } from '../result.ts'
import { median } from '../statistics.ts'

type Run = (work: () => Promise<void>) => Promise<void>
type Workload = (run: Run) => Promise<void>

interface Round {
  readonly perSecond: number
  readonly cpuMicroseconds: number
}

const size = process.argv[2] as Size
const ROUNDS = size === 'tiny' ? 3 : 41
const WARM_UP_ROUNDS = Math.floor(ROUNDS / 5)
const ACQUISITIONS = size === 'tiny' ? 200 : 20_000
const WAITERS = 50

const locks = createLocks({ store: memory() })
const olderLocks = OLDER === null ? null : await olderOverMemory()
const mutex = new asyncMutex.Mutex()
// The same version built as CommonJS is about twice as fast as the one that `import` gives.
const commonJs = createRequire(import.meta.url)('async-mutex') as typeof asyncMutex
const commonJsMutex = new commonJs.Mutex()

const OURS = 'holdfast'
const SUBJECTS: Record<string, Run> = {
  [OURS]: (work) => locks.using('key', work),
  ...olderEntry<Run>((work) => olderLocks!.using('key', work)),
  'async-mutex (import)': (work) => mutex.runExclusive(work),
  'async-mutex (require)': (work) => commonJsMutex.runExclusive(work),
}

async function olderOverMemory() {
  const { createLocks, memory } = await older()
  return createLocks({ store: memory() })
}

let inside = 0
let overlaps = 0

async function alone(run: Run): Promise<void> {
  for (let done = 0; done < ACQUISITIONS; done++) await run(noWork)
}

async function inLine(run: Run): Promise<void> {
  const waiter = async (): Promise<void> => {
    for (let done = 0; done < ACQUISITIONS / WAITERS; done++) await run(watchedWork)
  }
  await Promise.all(Array.from({ length: WAITERS }, waiter))
}

async function noWork(): Promise<void> {}

/** Gives others the chance to come in, and sees whether they do. */
async function watchedWork(): Promise<void> {
  if (++inside > 1) overlaps++
  await null
  inside--
}

async function measure(workload: Workload, run: Run): Promise<Round> {
  const cpu = process.cpuUsage()
  const startedAtMs = performance.now()
  await workload(run)
  const tookMs = performance.now() - startedAtMs
  const { user, system } = process.cpuUsage(cpu)
  return { perSecond: (ACQUISITIONS / tookMs) * 1000, cpuMicroseconds: (user + system) / ACQUISITIONS }
}

/** Rounds of all in turn, each time another one first, so that whatever else the machine does meets them all. */
async function compare(name: string, workload: Workload): Promise<Result> {
  const names = Object.keys(SUBJECTS)
  const rounds = new Map<string, Round[]>(names.map((subject) => [subject, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const subject = names[(round + turn) % names.length] as string
      const measured = await measure(workload, SUBJECTS[subject] as Run)
      if (round >= WARM_UP_ROUNDS) rounds.get(subject)?.push(measured)
    }
  }
  const ours = rounds.get(OURS) as Round[]
  const ratioTo = (theirs: readonly Round[]): number =>
    median(ours.map((round, index) => round.perSecond / (theirs[index] as Round).perSecond))
  const rows = [...rounds].map(([subject, measured]) => ({
    workload: name,
    subject,
    figures: {
      'per second': median(measured.map((round) => round.perSecond)),
      'CPU µs each': median(measured.map((round) => round.cpuMicroseconds)),
      'holdfast, times this': ratioTo(measured),
      ...timesOlder(rounds, subject, ({ perSecond }) => perSecond),
    },
  }))
  const targets = rows
    .filter(({ subject }) => subject !== OURS && subject !== OLDER?.name)
    .map(({ subject, figures }) => ({
      what: `${name}: rate, times ${subject}`,
      value: figures['holdfast, times this'],
      bound: { atLeast: 0.5 },
    }))
  return { rows, targets: [...targets, ...olderTargets(rows, OURS)], overlaps }
}

const results = [await compare('memory, uncontended', alone), await compare('memory, 50 waiters', inLine)]
await locks.close()
await olderLocks?.close()
emit({
  rows: results.flatMap(({ rows }) => rows),
  targets: results.flatMap(({ targets }) => targets),
  overlaps,
})
