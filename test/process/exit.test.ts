import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Bundle } from '../../bench/bundle.ts'
import { Program } from './support/program.ts'

const PROGRAM = new URL('./programs/exit.ts', import.meta.url)
const PROMPTLY_MS = 2_000
const SCENES = [
  'uses',
  'forgetsToClose',
  'forgetsToRelease',
  'waits',
  'timesOut',
  'losesALease',
  'losesALeaseUnseen',
  'abortsAWaiter',
  'closesOverWaiters',
  'failsInItsWork',
  'keepsALeaseForLong',
]

let bundle: Bundle
let folder: string
let program: Program | undefined

beforeAll(async () => {
  bundle = await Bundle.of(PROGRAM)
})
afterAll(() => bundle.remove())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-exit-'))
})
afterEach(() => {
  program?.abandon()
  rmSync(folder, { recursive: true, force: true })
})

describe.each(['memory', 'sqlite'])('over %s, a program that is done ends by itself', (store) => {
  test.each(SCENES)('%s', async (scene) => {
    program = new Program(bundle.path(PROGRAM), [store, scene, join(folder, 'locks.db')])
    await program.printed('done')
    const doneAtMs = performance.now()
    expect(await program.ended).toEqual({ code: 0, signal: null, stderr: '' })
    expect(performance.now() - doneAtMs).toBeLessThan(PROMPTLY_MS)
  })
})
