import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TSX = fileURLToPath(import.meta.resolve('tsx'))

interface Output {
  readonly machine: { readonly node: string }
  readonly results: Record<string, { rows: object[]; targets: { value: number }[]; overlaps: number }>
}

test('every benchmark runs, sees no overlap and says something about each of its targets', async () => {
  const args = ['--import', TSX, 'bench/main.ts', '--tiny', '--json']
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT })
  const { machine, results } = JSON.parse(stdout) as Output
  expect(machine.node).toBe(process.version)
  expect(Object.keys(results)).toEqual([
    'memory',
    'leases',
    'sqlite',
    'postgres',
    'mysql',
    'advisory',
    'redis',
    'pushes',
    'quorum',
    'inventory',
    'metrics',
    'etcd',
    'zookeeper',
    'growth',
    'startup',
  ])
  for (const [name, { rows, targets, overlaps }] of Object.entries(results)) {
    expect(rows.length).toBeGreaterThan(0)
    // Two ways to do the same are compared there, and neither has to reach anything.
    if (name !== 'pushes') expect(targets.length).toBeGreaterThan(0)
    expect(targets.map(({ value }) => Number.isNaN(value))).not.toContain(true)
    expect(overlaps).toBe(0)
  }
}, 240_000)
