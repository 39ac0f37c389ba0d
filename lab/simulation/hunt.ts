import { bundleWorker, StalePatchError } from './bundle.ts'
import type { Mutant } from './mutants.ts'
import { Runner } from './pool.ts'
import type { PlanOrSeed } from './worker.ts'

const MOST_SEEDS = 1000

/** How a mutant was found, or that it was not. */
export interface Catch {
  readonly name: string
  readonly seed: number | null
  /** The promise it broke, or why it could not be hunted. */
  readonly by: string
}

/** Plants each mutant in turn and runs seeds until one of them shows it. */
export async function hunt(
  mutants: readonly Mutant[],
  workers: number,
  talk: boolean,
  planOf: (seed: number) => PlanOrSeed,
): Promise<{ catches: readonly Catch[]; seconds: number }> {
  const beganMs = performance.now()
  const catches = new Map<Mutant, Catch>()
  const waiting = [...mutants]
  const work = async (): Promise<void> => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const found = await seek(mutant, planOf)
      catches.set(mutant, found)
      const verdict = found.seed === null ? 'ESCAPED' : `seed ${found.seed}`
      if (talk) console.log(`${verdict.padEnd(10)}${mutant.name.padEnd(42)}${found.by}`)
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  const seconds = Math.round((performance.now() - beganMs) / 100) / 10
  return { catches: mutants.map((mutant) => catches.get(mutant) as Catch), seconds }
}

async function seek({ name, patches }: Mutant, planOf: (seed: number) => PlanOrSeed): Promise<Catch> {
  let file: string
  try {
    file = await bundleWorker(name, patches)
  } catch (error) {
    if (!(error instanceof StalePatchError)) throw error
    return { name, seed: null, by: `stale: ${error.message}` }
  }
  const runner = new Runner(file)
  try {
    for (let seed = 1; seed <= MOST_SEEDS; seed++) {
      const { violation } = await runner.ask({ kind: 'run', plan: planOf(seed), tracing: false })
      if (violation !== null) return { name, seed, by: violation.invariant }
    }
    return { name, seed: null, by: `not found in ${MOST_SEEDS} seeds` }
  } finally {
    await runner.close()
  }
}
