import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { olderTargets, timesOlder } from '../older.ts'
import { emit, type Row, type Size } from '../result.ts'
import { OLDERS, openSubject, STATEMENTS, type Subject, type SubjectName } from '../sqlite/subjects.ts'
import { median } from '../statistics.ts'

/** One process, one key, nobody else: what a lock and its release cost. */
const size = process.argv[2] as Size
const ROUNDS = size === 'tiny' ? 2 : 15
const WARM_UP_ROUNDS = Math.floor(ROUNDS / 5)
const ROUND_MS = size === 'tiny' ? 20 : 200
const PEER = 'proper-lockfile (default)'
const NAMES: readonly SubjectName[] = ['holdfast', ...OLDERS, PEER, STATEMENTS]

const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
const subjects = await Promise.all(
  NAMES.map(async (name) => ({ name, subject: await openSubject(name, folder), rates: [] as number[] })),
)
for (const { subject } of subjects) subject.prepare('key')
for (let round = 0; round < ROUNDS; round++) {
  for (const { subject, rates } of round % 2 === 0 ? subjects : subjects.toReversed()) {
    const rate = await rateOf(subject)
    if (round >= WARM_UP_ROUNDS) rates.push(rate)
  }
}
for (const { subject } of subjects) await subject.close()
rmSync(folder, { recursive: true, force: true })

async function rateOf(subject: Subject): Promise<number> {
  const startedAtMs = performance.now()
  let done = 0
  let tookMs = 0
  while (tookMs < ROUND_MS) {
    await subject.run('key', async () => {})
    done++
    tookMs = performance.now() - startedAtMs
  }
  return (done / tookMs) * 1000
}

const ours = subjects[0]?.rates ?? []
const bySubject = new Map<string, readonly number[]>(subjects.map(({ name, rates }) => [name, rates]))
const rows: Row[] = subjects.map(({ name, rates }) => ({
  workload: 'SQLite, one process, uncontended',
  subject: name,
  figures: {
    'per second': median(rates),
    'holdfast, times this': median(ours.map((rate, index) => rate / (rates[index] as number))),
    ...timesOlder(bySubject, name, (rate) => rate),
  },
}))
emit({
  rows,
  targets: [
    ...rows
      .filter(({ subject }) => subject === PEER)
      .map(({ workload, subject, figures }) => ({
        what: `${workload}: rate, times ${subject}`,
        value: figures['holdfast, times this'] as number,
        bound: { atLeast: 20 },
      })),
    ...olderTargets(rows, 'holdfast'),
  ],
  overlaps: 0,
})
