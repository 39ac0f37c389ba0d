import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { connect } from '../../src/index.ts'
import { loadBinding } from '../../src/stores/sqlite/binding.ts'
import { Bench, isAlive, listener, type Running, stateOf } from './support/command.ts'

const bench = new Bench()

/** A shell and a child of its own, both deaf to SIGTERM: only SIGKILL to the group ends them. */
const STUBBORN = `trap '' TERM; sh -c "trap '' TERM; echo inner \\$\\$; while :; do sleep 0.1; done" & echo outer $$; while :; do sleep 0.1; done`

async function pidsOf(running: Running): Promise<[outer: number, inner: number]> {
  const outer = await running.printed(/outer (\d+)/)
  const inner = await running.printed(/inner (\d+)/)
  bench.endAtLast(Number(outer[1]))
  return [Number(outer[1]), Number(inner[1])]
}

/** Keeps everybody else from writing to the store. */
function holdDatabase(file: string): Disposable & { readonly sinceMs: number } {
  const database = new (loadBinding().DatabaseSync)(file)
  database.exec('PRAGMA busy_timeout = 5000; BEGIN EXCLUSIVE')
  return { sinceMs: performance.now(), [Symbol.dispose]: () => database.close() }
}

describe('a lost lease', () => {
  it('ends the whole group of a runner that was paused beyond its ttl, as soon as it wakes up', async () => {
    const running = bench.start(['run', 'key', '--ttl', '500ms', '--', 'sh', '-c', STUBBORN])
    const pids = await pidsOf(running)
    running.signal('SIGSTOP')
    await using locks = await connect(bench.store)
    const lease = await locks.acquire('key', { wait: '10s' })
    expect(pids.map(isAlive)).toEqual([true, true])
    running.signal('SIGCONT')
    const { code, stderr } = await running.finished
    expect(code).toBe(76)
    expect(stderr).toMatch(/^holdfast: the lease on "key" was lost: .*; the command was ended$/m)
    expect(pids.map(isAlive)).toEqual([false, false])
    // The new holder is none the worse for it.
    expect(lease.held).toBe(true)
    expect((await locks.read('key')).holders).toHaveLength(1)
  })

  it('ends the whole group when stderr has no reader any more', async () => {
    const running = bench.start(['run', 'key', '--ttl', '2s', '--', 'sh', '-c', STUBBORN])
    const pids = await pidsOf(running)
    running.stopReading('stderr')
    await using locks = await connect(bench.store)
    expect(await locks.evict('key')).toHaveLength(1)
    expect((await running.finished).code).toBe(76)
    expect(pids.map(isAlive)).toEqual([false, false])
  })

  it('gives the command SIGTERM first', async () => {
    const command = listener('SIGTERM', `console.log('told'); process.exit(3)`)
    const running = bench.start(['run', 'key', '--ttl', '500ms', '--', ...command])
    await running.printed(/started/)
    await using locks = await connect(bench.store)
    expect(await locks.evict('key')).toHaveLength(1)
    expect(await running.finished).toMatchObject({ code: 76, stdout: 'started\ntold\n' })
  })

  it('is noticed when the command ends before the next renewal', async () => {
    const waitForFile = `echo started; while [ ! -e "$0" ]; do sleep 0.02; done`
    const running = bench.start([
      'run',
      'key',
      '--ttl',
      '1h',
      '--',
      'sh',
      '-c',
      waitForFile,
      bench.file('go'),
    ])
    await running.printed(/started/)
    await using locks = await connect(bench.store)
    await locks.evict('key')
    writeFileSync(bench.file('go'), '')
    expect((await running.finished).code).toBe(76)
  })

  it('that cannot be renewed ends the command before the lease does', async () => {
    const ttlMs = 3_000
    const running = bench.start(['run', 'key', '--ttl', `${ttlMs}ms`, '--', 'sh', '-c', STUBBORN])
    const pids = await pidsOf(running)
    using outage = holdDatabase(bench.file('locks.db'))
    // Every renewal from here on fails, so the lease ends within a ttl.
    const endsAtMs = outage.sinceMs + ttlMs
    await sleep(ttlMs / 4)
    expect(pids.map(isAlive)).toEqual([true, true])
    while (pids.some(isAlive) && performance.now() < endsAtMs) await sleep(10)
    expect(pids.map(isAlive)).toEqual([false, false])
    expect(performance.now()).toBeLessThan(endsAtMs)
    expect((await running.finished).code).toBe(76)
  })
})

describe.runIf(process.platform === 'linux')('a runner that is stopped by Ctrl-Z', () => {
  it('stops the command too, and lets it go on when the lease is still its own', async () => {
    const running = bench.start([
      'run',
      'key',
      '--ttl',
      '20s',
      '--',
      'sh',
      '-c',
      'echo started $$; exec sleep 30',
    ])
    const pid = Number((await running.printed(/started (\d+)/))[1])
    running.signal('SIGTSTP')
    await until(() => stateOf(running.pid) === 'T' && stateOf(pid) === 'T', running)
    running.signal('SIGCONT')
    await until(() => stateOf(pid) === 'S', running)
    running.signal('SIGTERM')
    expect((await running.finished).code).toBe(143)
  })

  it('never lets it go on when the lease was lost in the meantime', async () => {
    // One process, because a shell that has started another one is not shown as stopped.
    const script = `
      const write = () => fs.appendFileSync(process.argv[1], '.')
      write()
      setInterval(write, 5)
      process.on('SIGTERM', write)
      console.log('started', process.pid)`
    const command = [process.execPath, '-e', script, bench.file('trace')]
    const running = bench.start(['run', 'key', '--ttl', '400ms', '--', ...command])
    const pid = Number((await running.printed(/started (\d+)/))[1])
    running.signal('SIGTSTP')
    await until(() => stateOf(running.pid) === 'T' && stateOf(pid) === 'T', running)
    bench.endAtLast(pid)
    const trace = readFileSync(bench.file('trace'), 'utf8')
    await using locks = await connect(bench.store)
    await using _lease = await locks.acquire('key', { wait: '10s' })
    running.signal('SIGCONT')
    expect((await running.finished).code).toBe(76)
    expect(readFileSync(bench.file('trace'), 'utf8')).toBe(trace)
  })
})

/** Fails when the runner ends before the condition has come true. */
async function until(condition: () => boolean, running: Running): Promise<void> {
  const ended = running.finished.then((end) => {
    throw new Error(`ended early: ${JSON.stringify(end)}`)
  })
  // Nobody listens any more once the condition is true, and then an end is what is wanted.
  ended.catch(() => {})
  while (!condition()) await Promise.race([sleep(10), ended])
}
