import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { Bench } from './support/command.ts'

const bench = new Bench()
const PATIENCE_MS = 60_000

interface Shown {
  readonly name: string
  readonly claims: readonly { readonly text: string; readonly shown: boolean }[]
}

it('shows what it claims, by the first generation and by this package', {
  timeout: PATIENCE_MS,
}, async () => {
  const { code, stdout, stderr } = await bench.holdfast(['lab', 'v1-crash', 'fenced-crash', '--json'], {
    TMPDIR: bench.folder,
  })
  const shown = JSON.parse(stdout) as Shown[]
  expect(shown.map(({ name }) => name)).toEqual(['v1-crash', 'fenced-crash'])
  expect(shown.flatMap(({ claims }) => claims.filter((claim) => !claim.shown))).toEqual([])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  // Nothing is left behind.
  expect(readdirSync(bench.folder).filter((name) => name.startsWith('holdfast-lab-'))).toEqual([])
})
