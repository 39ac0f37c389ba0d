import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Sweep } from './sweep.ts'

const RESULTS = new URL('../../docs/results/', import.meta.url)

/** The subject: the core and the model over one store, or over several servers that vote. */
export type Subject = 'simulation' | 'quorum-simulation'

/** One run that was kept: the seeds from `from` on. */
export interface KeptSweep extends Omit<Sweep, 'failures' | 'differing'> {
  readonly from: number
  readonly violations: number
  readonly differing: number
}

/** Keeps a run: several add up. */
export function keep(subject: Subject, from: number, { failures, differing, ...figures }: Sweep): string {
  const kept: KeptSweep = { from, ...figures, violations: failures.length, differing: differing.length }
  const file = `${subject}/${from}.json`
  mkdirSync(new URL(`${subject}/`, RESULTS), { recursive: true })
  writeFileSync(new URL(file, RESULTS), `${JSON.stringify(kept, null, 2)}\n`)
  return `docs/results/${file}`
}

export function kept(subject: Subject): readonly KeptSweep[] {
  const folder = new URL(`${subject}/`, RESULTS)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as KeptSweep)
    .sort((one, other) => one.from - other.from)
}

/** How many different seeds they are, also where runs overlap. */
export function seedsOf(sweeps: readonly KeptSweep[]): number {
  let [count, next] = [0, 0]
  for (const { from, seeds } of sweeps) {
    const end = from + seeds
    count += Math.max(0, end - Math.max(from, next))
    next = Math.max(next, end)
  }
  return count
}
