import { readdirSync, readFileSync } from 'node:fs'
import type { Machine } from '../../bench/machine.ts'
import { describeMachine, describeResult } from '../../bench/report.ts'
import type { Result } from '../../bench/result.ts'
import { ROOT } from './files.ts'

/** Every kept result as the command prints it. */
export function benchmarks(): string {
  const folder = new URL('bench/results/', ROOT)
  const kept = readdirSync(folder).filter((file) => file.endsWith('.json'))
  return kept
    .sort()
    .map((file) => {
      const name = file.slice(0, -'.json'.length)
      const text = readFileSync(new URL(file, folder), 'utf8')
      const { machine, ...result } = JSON.parse(text, nothingIsNaN) as Result & { machine: Machine }
      const printed = `${describeMachine(machine)}\n\n${describeResult(result)}`
      return `## ${name}\n\n\`npm run bench -- ${name}\`\n\n\`\`\`text\n${printed}\n\`\`\``
    })
    .join('\n\n')
}

/** JSON has no NaN: what cannot be measured for a subject was written as null. */
function nothingIsNaN(_: string, value: unknown): unknown {
  return value === null ? Number.NaN : value
}
