import type { Plan } from './plan.ts'
import type { Report } from './run.ts'

const BEFORE_MS = 2500
const MOST_LINES = 120

/** A violation for people: what, when, and what every process did shortly before. */
export function timeline(report: Report): string {
  const { violation, trace, seed } = report
  if (violation === null) return `seed ${seed}: no violation`
  const fromUs = violation.atUs - BEFORE_MS * 1000
  const near = trace.filter(({ atUs }) => atUs >= fromUs).slice(-MOST_LINES)
  const width = Math.max(0, ...near.map(({ who }) => who.length))
  const lines = near.map(
    ({ atUs, who, text }) => `${(atUs / 1000).toFixed(3).padStart(10)}  ${who.padEnd(width)}  ${text}`,
  )
  const head = `seed ${seed}: ${violation.invariant} at ${(violation.atUs / 1000).toFixed(3)} ms`
  return [head, violation.what, '', ...lines].join('\n')
}

/** A plan in a few words, to see what shrinking left. */
export function outline({ clients, faults }: Plan): string {
  const steps = clients.flatMap((client) => client.fibers).reduce((sum, fiber) => sum + fiber.length, 0)
  const working = clients.filter((client) => client.fibers.some((fiber) => fiber.length > 0)).length
  return `${working} clients at work, ${steps} steps, ${faults.length} faults`
}
