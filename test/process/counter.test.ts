import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { Bundle } from '../../bench/bundle.ts'
import { Crew } from './support/crew.ts'
import { Killer } from './support/killer.ts'
import { type Counter, FILES } from './support/messages.ts'
import { Witness } from './support/witness.ts'

const PROGRAM = new URL('./programs/counter.ts', import.meta.url)
const PROCESSES = 64
const INCREMENTS = 50
const TOTAL = PROCESSES * INCREMENTS
const KILL_TTL_MS = 1_500

let bundle: Bundle
let folder: string

beforeAll(async () => {
  bundle = await Bundle.of(PROGRAM)
})
afterAll(() => bundle.remove())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-count-'))
  writeFileSync(join(folder, FILES.counter), JSON.stringify({ value: 0, of: {} } satisfies Counter))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('64 processes, 50 increments each: the total is exact and no two are inside at once', async () => {
  const witness: Witness = new Witness((name) => witness.countOf(name) < INCREMENTS)
  const crew = new Crew(bundle.path(PROGRAM), { folder, ttlMs: 10_000 })
  await work(crew, witness)

  expect(crew.failures).toEqual([])
  expect(witness.overlaps).toEqual([])
  const { value, of } = read()
  expect(value).toBe(TOTAL)
  expect(Object.values(of)).toEqual(Array(PROCESSES).fill(INCREMENTS))
  expect(witness.acknowledged.map((increment) => increment.value)).toEqual(numbersTo(TOTAL))
  expect(witness.tokens).toEqual(rising(witness.tokens))
}, 120_000)

test('a worker is killed every 200 ms: what was acknowledged stays, and the key comes free within ttl + 1 s', async () => {
  const witness: Witness = new Witness(() => witness.acknowledged.length < TOTAL)
  const crew = new Crew(bundle.path(PROGRAM), { folder, ttlMs: KILL_TTL_MS })
  const killer = new Killer(crew, witness, () => witness.acknowledged.length < TOTAL)
  await work(crew, witness, killer)

  expect(crew.failures).toEqual([])
  expect(witness.overlaps).toEqual([])
  expect(witness.tokens).toEqual(rising(witness.tokens))
  expect(killer.holdersKilled).toBeGreaterThan(0)
  expect(longestGapMs(witness.entersMs)).toBeLessThan(KILL_TTL_MS + 1_000)

  // A process killed between its write and its last message made one increment that was never acknowledged.
  const { value, of } = read()
  const unacknowledged = [...killer.killed].filter((name) => of[name] === witness.countOf(name) + 1)
  const expected = Object.fromEntries(Object.keys(of).map((name) => [name, witness.countOf(name)]))
  for (const name of unacknowledged) expected[name] = witness.countOf(name) + 1
  expect(of).toEqual(expected)
  expect(value).toBe(witness.acknowledged.length + unacknowledged.length)
  expect(new Set(witness.acknowledged.map((increment) => increment.value)).size).toBe(
    witness.acknowledged.length,
  )
}, 180_000)

/** Lets the crew begin together and work until each of them was told to stop. */
async function work(crew: Crew, witness: Witness, killer?: Killer): Promise<void> {
  await witness.listen(join(folder, FILES.socket), PROCESSES)
  try {
    for (let hired = 0; hired < PROCESSES; hired++) crew.hire()
    killer?.start()
    await crew.ended()
  } finally {
    killer?.stop()
    await crew.dismiss()
    await witness.close()
  }
}

function read(): Counter {
  return JSON.parse(readFileSync(join(folder, FILES.counter), 'utf8')) as Counter
}

function numbersTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1)
}

function rising(tokens: readonly bigint[]): bigint[] {
  return [...new Set(tokens)].sort((one, other) => (one < other ? -1 : 1))
}

function longestGapMs(timesMs: readonly number[]): number {
  return Math.max(...timesMs.slice(1).map((timeMs, index) => timeMs - (timesMs[index] as number)))
}
