import { readdirSync, readFileSync } from 'node:fs'
import type { Machine } from '../../bench/machine.ts'
import { describeMachine, describeResult } from '../../bench/report.ts'
import type { Result } from '../../bench/result.ts'
import { STORES } from '../../bench/stores/servers.ts'
import { ROOT } from './files.ts'
import { table } from './table.ts'

/** Every kept result as the command prints it. */
export function benchmarks(): string {
  const folder = new URL('bench/results/', ROOT)
  // The comparison of stores has a page of its own.
  const kept = readdirSync(folder).filter((file) => file.endsWith('.json') && file !== 'stores.json')
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

/** The kept comparison of all stores as one table, in the order of the documentation. */
export function stores(): string {
  const text = readFileSync(new URL('bench/results/stores.json', ROOT), 'utf8')
  const { rows, notes = [], machine } = JSON.parse(text, nothingIsNaN) as Result & { machine: Machine }
  const columns = Object.keys(rows[0]?.figures ?? {})
  const sorted = Object.keys(STORES).flatMap((store) => rows.filter(({ subject }) => subject === store))
  const cells = sorted.map(({ subject, figures }) => [
    `\`${subject}\``,
    ...columns.map((name) => figure(figures[name])),
  ])
  const measured = `Measured on ${describeMachine(machine).split('\n')[0]}.`
  return [table(['store', ...columns], cells), ...notes, measured].join('\n\n')
}

function figure(value = Number.NaN): string {
  return Number.isNaN(value) ? '–' : value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })
}

/** JSON has no NaN: what cannot be measured for a subject was written as null. */
function nothingIsNaN(_: string, value: unknown): unknown {
  return value === null ? Number.NaN : value
}
