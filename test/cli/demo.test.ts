import { existsSync, readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { Bench, withoutSqlite } from './support/command.ts'

const bench = new Bench()
const PATIENCE_MS = 60_000

it('shows that the sale is oversold without a lock and exact with one, through a kill, a pause and a late write', {
  timeout: PATIENCE_MS,
}, async () => {
  const { code, stdout, stderr } = await bench.holdfast(['demo', '--json'], { TMPDIR: bench.folder })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const { kept, broken, phases, incidents, refusals } = JSON.parse(stdout)
  expect({ kept, broken }).toEqual({ kept: true, broken: [] })
  const [hasty, guarded] = phases
  expect(hasty.sold).toBeGreaterThan(100)
  expect(hasty).toMatchObject({ stock: 100, oversoldBy: hasty.sold - 100, lateWritesRefused: null })
  expect(hasty.unitsSoldTwice).toBeGreaterThan(0)
  expect(guarded).toMatchObject({ stock: 100, sold: 100, oversoldBy: 0, unitsSoldTwice: 0 })
  expect(incidents.map((incident: { kind: string }) => incident.kind)).toEqual(
    expect.arrayContaining(['killed', 'paused', 'woken', 'tookOver', 'refused']),
  )
  const late = refusals.find(({ worker }: { worker: number }) => worker === 6)
  expect(BigInt(late.token)).toBeLessThan(BigInt(late.fence))
  // Nothing is left behind.
  expect(readdirSync(bench.folder).filter((name) => name.startsWith('holdfast-demo-'))).toEqual([])
})

it('tells the story in plain lines on a pipe', { timeout: PATIENCE_MS }, async () => {
  const { code, stdout } = await bench.holdfast(['demo'])
  expect(code).toBe(0)
  expect(stdout).not.toContain('\x1b')
  expect(stdout).not.toContain('\r')
  expect(stdout).toMatch(/^ +\d+\.\d s .* \d+ sold of 100/m)
  expect(stdout).toMatch(/worker 3 is killed with the lock in its hands/)
  expect(stdout).toMatch(/its late write is refused: token …?\d+ is behind …?\d+/)
  expect(stdout).toMatch(/^worker 3 {2}.*✖ +killed$/m)
  expect(stdout).toMatch(/^worker 6 {2}.*┄+.*⊘.* {2}paused, late write refused$/m)
  expect(stdout).toMatch(/^with Holdfast +100 +100 +0 +0 +[1-9]/m)
  expect(stdout).toMatch(/^✔ Exactly 100 sold/m)
})

it('ends when it has no reader any more, with all its processes and files', async () => {
  const running = bench.start(['demo'], { TMPDIR: bench.folder })
  await running.printed(/sold of 100/)
  const folder = readdirSync(bench.folder).find((name) => name.startsWith('holdfast-demo-'))
  running.stopReading('stdout')
  expect(await running.finished).toMatchObject({ code: 141, stderr: '' })
  expect(existsSync(bench.file(folder!))).toBe(false)
})

it('says before the first sale what to install where there is no SQLite', async () => {
  const end = await bench.startWith(withoutSqlite(), ['demo'], { TMPDIR: bench.folder }).finished
  expect(end).toMatchObject({ code: 64, stdout: '' })
  expect(end.stderr).toMatch(
    /^holdfast: the SQLite store needs Node 22\.13 or newer, or .*: npm install @photostructure\/sqlite.*\n$/,
  )
  expect(readdirSync(bench.folder).filter((name) => name.startsWith('holdfast-demo-'))).toEqual([])
})

it('ends by a signal, with all its processes and files', async () => {
  const running = bench.start(['demo'], { TMPDIR: bench.folder })
  await running.printed(/sold of 100/)
  const folder = readdirSync(bench.folder).find((name) => name.startsWith('holdfast-demo-'))
  running.signal('SIGINT')
  expect((await running.finished).code).toBe(130)
  expect(existsSync(bench.file(folder!))).toBe(false)
})
