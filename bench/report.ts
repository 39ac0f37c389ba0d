import type { Machine } from './machine.ts'
import { isMet, type Result, type Row, type Target } from './result.ts'

export function describeMachine({ cpu, cores, system, node, packages }: Machine): string {
  return `${cpu}, ${cores} cores, ${system}, Node ${node}\n${describeVersions(packages)}`
}

function describeVersions(versions: Readonly<Record<string, string>>): string {
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ')
}

/** A table for each workload, then what was to be shown. */
export function describeResult({ rows, targets, overlaps, notes = [], versions = {} }: Result): string {
  const workloads = [...new Set(rows.map((row) => row.workload))]
  const tables = workloads.map((workload) => table(rows.filter((row) => row.workload === workload)))
  return [
    describeVersions(versions),
    notes.join('\n'),
    ...tables,
    targets.map(describeTarget).join('\n'),
    `overlaps seen: ${overlaps}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

function describeTarget(target: Target): string {
  const { what, value, bound } = target
  const wanted = 'atLeast' in bound ? `at least ${bound.atLeast}` : `at most ${bound.atMost}`
  return `${isMet(target) ? 'met   ' : 'missed'}  ${what}: ${figure(value)} (${wanted})`
}

function table(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0]?.figures ?? {})
  const cells = [
    [rows[0]?.workload ?? '', ...columns],
    ...rows.map(({ subject, figures }) => [subject, ...columns.map((column) => figure(figures[column]))]),
  ]
  const widths = ['', ...columns].map((_, index) =>
    Math.max(...cells.map((row) => (row[index] ?? '').length)),
  )
  const line = (row: readonly string[]): string =>
    row
      .map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0)))
      .join('  ')
  return cells.map(line).join('\n')
}

function figure(value = Number.NaN): string {
  if (Number.isNaN(value)) return '–'
  const digits = Math.abs(value) >= 100 ? 0 : 2
  return value.toLocaleString('en', { maximumFractionDigits: digits })
}
