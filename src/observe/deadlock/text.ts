import { type DeadlockStep, quote } from '../../errors.ts'

/** The cycle in one sentence, for the error of the wait that was ended. */
export function describe(cycle: readonly DeadlockStep[], key: string): string {
  const members = cycle.map((step) => {
    const holds = step.holds.length === 0 ? 'is in the line' : `holds ${step.holds.map(quote).join(', ')}`
    return `${who(step)} ${holds} and waits for ${quote(step.waitsFor)}`
  })
  return `waiting for ${quote(key)} would never end, so it was given up: ${members.join('; ')}`
}

function who({ label, actor }: DeadlockStep): string {
  return actor === null ? label : `${label} (${actor})`
}
