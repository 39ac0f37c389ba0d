import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks, type Locks } from 'holdfast'
import { sqlite } from 'holdfast/sqlite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Bundle } from '../../bench/bundle.ts'
import type { FromPaused } from './support/messages.ts'
import { Program } from './support/program.ts'

const SIGNALLED = new URL('./programs/signalled.ts', import.meta.url)
const PAUSED = new URL('./programs/paused.ts', import.meta.url)
const TTL_MS = 600

let bundle: Bundle
let folder: string
let database: string
let locks: Locks
let program: Program | undefined

beforeAll(async () => {
  bundle = await Bundle.of(SIGNALLED, PAUSED)
})
afterAll(() => bundle.remove())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-signals-'))
  database = join(folder, 'locks.db')
  locks = createLocks({ store: sqlite(database) })
})
afterEach(async () => {
  program?.abandon()
  await locks.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('releaseOnSignal', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s: the key is free, and the process ended by it',
    async (signal) => {
      program = start('')
      await program.printed('holding')
      expect(await locks.tryAcquire('held')).toBeNull()
      program.child.kill(signal)
      expect(await program.ended).toEqual({ code: null, signal, stderr: '' })
      expect(await locks.tryAcquire('held')).not.toBeNull()
    },
  )

  test('a program with a handler of its own decides when it ends', async () => {
    program = start('with a handler of its own')
    await program.printed('holding')
    program.child.kill('SIGTERM')
    expect(await program.ended).toEqual({ code: 0, signal: null, stderr: '' })
    await program.printed('handled')
    expect(await locks.tryAcquire('held')).not.toBeNull()
  })

  test('a program that waits for another key ends by the signal too', async () => {
    await locks.acquire('busy')
    program = start('while it waits')
    await program.printed('holding')
    await somebodyWaitsFor('busy')
    program.child.kill('SIGTERM')
    expect(await program.ended).toEqual({ code: null, signal: 'SIGTERM', stderr: '' })
    expect(await locks.tryAcquire('held')).not.toBeNull()
    expect((await locks.read('busy')).queue).toEqual([])
  })

  function start(manner: string): Program {
    return new Program(bundle.path(SIGNALLED), [database, manner])
  }
})

test('a process that is killed costs its ttl and no more', async () => {
  program = new Program(bundle.path(PAUSED), [database, String(TTL_MS)])
  await once(program.child, 'message')
  program.child.kill('SIGKILL')
  await program.ended
  const killedAtMs = performance.now()
  await locks.acquire('key', { wait: TTL_MS * 10 })
  expect(performance.now() - killedAtMs).toBeLessThan(TTL_MS + 1_000)
})

test('a process that was paused beyond its ttl knows it before it writes again, and the fence stops it if it does not', async () => {
  const resource = new Resource()
  program = new Program(bundle.path(PAUSED), [database, String(TTL_MS)])
  program.child.on('message', (message: FromPaused) => resource.hear(message))
  await once(program.child, 'message')
  program.child.kill('SIGSTOP')
  const lease = await locks.acquire('key', { wait: TTL_MS * 10 })
  const before = resource.heard.length
  resource.write(lease.token as bigint)
  program.child.kill('SIGCONT')

  expect(await program.ended).toEqual({ code: 0, signal: null, stderr: '' })
  const after = resource.heard.slice(before)
  expect(after).toContainEqual({ kind: 'aborted', code: 'LEASE_LOST' })
  expect(after.filter((message) => message.kind === 'write')).toEqual([
    expect.objectContaining({ knowing: 'lost' }),
  ])
  expect(resource.refused).toBe(1)
  expect(lease.held).toBe(true)
})

async function somebodyWaitsFor(key: string): Promise<void> {
  while ((await locks.read(key)).queue.length === 0) await sleep(5)
}

/** Refuses what comes with a lower token than it has seen. */
class Resource {
  readonly heard: FromPaused[] = []
  refused = 0
  private fence = 0n

  hear(message: FromPaused): void {
    this.heard.push(message)
    if (message.kind === 'write' && !this.write(BigInt(message.token))) this.refused++
  }

  write(token: bigint): boolean {
    if (token < this.fence) return false
    this.fence = token
    return true
  }
}
