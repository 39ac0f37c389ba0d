import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { applyPatch, bundleWorker, StalePatchError } from '../../lab/simulation/bundle.ts'
import { FEWEST_FAULTS } from '../../lab/simulation/faults.ts'
import { generate } from '../../lab/simulation/generate.ts'
import { MUTANTS } from '../../lab/simulation/mutants.ts'
import type { Plan } from '../../lab/simulation/plan.ts'
import { Runner } from '../../lab/simulation/pool.ts'
import { run } from '../../lab/simulation/run.ts'
import { minimise } from '../../lab/simulation/shrink.ts'

const regressions = new URL('./regressions/', import.meta.url)

describe('a plan', () => {
  it('has at least 60 virtual seconds, 3 clients and 20 faults', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const { clients, faults, endAtMs } = generate(seed)
      expect(clients.length).toBeGreaterThanOrEqual(3)
      expect(faults.length).toBeGreaterThanOrEqual(20)
      expect(endAtMs).toBeGreaterThanOrEqual(60_000)
    }
    expect(FEWEST_FAULTS).toBe(20)
  })

  it('survives JSON, so that a file replays as the seed does', async () => {
    const plan = generate(11)
    const copy = JSON.parse(JSON.stringify(plan)) as Plan
    expect(copy).toEqual(plan)
    expect((await run(copy)).digest).toBe((await run(plan)).digest)
  })
})

describe('a run', () => {
  it('is the same for the same seed, with and without a timeline, and another for another seed', async () => {
    const first = await run(generate(3))
    const second = await run(generate(3), true)
    expect(second.trace.length).toBeGreaterThan(100)
    expect({ ...second, trace: [] }).toEqual(first)
    expect((await run(generate(4))).digest).not.toBe(first.digest)
  })

  it.each(readdirSync(regressions))('keeps its promises under the plan %s', async (file) => {
    const plan = JSON.parse(readFileSync(new URL(file, regressions), 'utf8')) as Plan
    expect((await run(plan)).violation).toBeNull()
  })
})

describe('a process whose local queue never empties', () => {
  it.each([
    'hand-over not limited by count',
    'hand-over not limited by time',
    'readers join before a waiting writer',
    'permit holders hear of no waiter',
  ])('starves the waiter of another process under the mutant "%s", and the run says so', async (name) => {
    const mutant = MUTANTS.find((each) => each.name === name)
    const runner = new Runner(await bundleWorker(`test of ${name}`, mutant?.patches))
    try {
      const { violation } = await runner.ask({ kind: 'run', plan: 1, tracing: false })
      expect(violation?.invariant).toBe('starved')
    } finally {
      await runner.close()
    }
  })
})

describe('a patch', () => {
  const patch = { file: 'f.ts', find: 'one', replace: 'two' }

  it('changes the one place it names and is stale when there is none, or more', () => {
    expect(applyPatch('a one b', patch)).toBe('a two b')
    expect(() => applyPatch('a b', patch)).toThrow(StalePatchError)
    expect(() => applyPatch('one one', patch)).toThrow(StalePatchError)
  })

  it.each(MUTANTS)('of the mutant "$name" fits the sources', ({ patches }) => {
    for (const each of patches) {
      const text = readFileSync(new URL(`../../${each.file}`, import.meta.url), 'utf8')
      expect(applyPatch(text, each)).not.toBe(text)
    }
  })
})

describe('shrinking', () => {
  it('leaves what is needed and nothing else', async () => {
    const items = Array.from({ length: 40 }, (_, index) => index)
    const left = await minimise(items, async (fewer) => fewer.includes(7) && fewer.includes(31))
    expect(left).toEqual([7, 31])
  })

  it('makes the plan of a planted bug smaller, and it still fails in the same way', {
    timeout: 120_000,
  }, async () => {
    const mutant = MUTANTS.find(({ name }) => name === 'permits over-admitted')
    const runner = new Runner(await bundleWorker('test of shrinking', mutant?.patches))
    try {
      const whole = await runner.ask({ kind: 'run', plan: 1, tracing: false })
      expect(whole.violation?.invariant).toBe('overlap')
      const smaller = await runner.ask({ kind: 'shrink', plan: 1, invariant: 'overlap' })
      const again = await runner.ask({ kind: 'run', plan: smaller, tracing: true })
      expect(again.violation?.invariant).toBe('overlap')
      expect(smaller.faults.length).toBeLessThan(3)
      const steps = smaller.clients.flatMap(({ fibers }) => fibers).flat()
      expect(steps.length).toBeLessThan(12)
    } finally {
      await runner.close()
    }
  })
})
