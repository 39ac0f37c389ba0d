import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Bench } from './context.ts'
import type { Machine } from './machine.ts'
import type { Result, Row } from './result.ts'

const FOLDER = new URL('./results/', import.meta.url)

/** Keeps a result. Of a benchmark that ran in part, the workloads that did not run stay as they were kept before. */
export function keep(name: string, bench: Bench, machine: Machine, result: Result): void {
  const file = new URL(`${name}.json`, FOLDER)
  const whole = completed(bench, result, file)
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(file, `${JSON.stringify({ machine, ...whole }, null, 2)}\n`)
  if (bench.draw !== undefined) writeFileSync(new URL(`${name}.svg`, FOLDER), bench.draw(whole, machine))
}

function completed({ judge, bySubject }: Bench, result: Result, file: URL): Result {
  if (judge === undefined || !existsSync(file)) return result
  const nameOf = ({ workload, subject }: Row): string => (bySubject ? `${workload} ${subject}` : workload)
  const fresh = new Set(result.rows.map(nameOf))
  const before = JSON.parse(readFileSync(file, 'utf8'), nothingIsNaN) as Result
  const kept = before.rows.filter((row) => !fresh.has(nameOf(row)))
  const rows = [...kept, ...result.rows]
  const overlaps = result.overlaps + (kept.length > 0 ? before.overlaps : 0)
  return {
    ...result,
    rows,
    targets: judge(rows),
    overlaps,
    versions: { ...before.versions, ...result.versions },
  }
}

/** JSON has no NaN: what cannot be measured for a subject was written as null. */
function nothingIsNaN(_: string, value: unknown): unknown {
  return value === null ? Number.NaN : value
}
