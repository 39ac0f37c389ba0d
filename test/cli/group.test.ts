import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { lookByPs, lookInProc } from '../../src/cli/run/members.ts'
import { connect, LockTimeoutError } from '../../src/index.ts'
import { Bench, isAlive, type Running, stateOf } from './support/command.ts'

const bench = new Bench()

/** A worker that answers to SIGTERM and, once told to, ends when a file is there. */
const WORKER = `
  const finish = () => setInterval(() => fs.existsSync(process.argv[1]) && process.exit(), 10)
  process.on('SIGTERM', () => { console.log('cleaning'); finish() })
  if (process.argv[2] === 'background') finish()
  setInterval(() => {}, 1_000)
  console.log('worker', process.pid)`

/** A shell below another one that goes on whatever it is told. */
const DEAF = `trap '' TERM INT HUP; sh -c 'echo worker $$; while :; do sleep 0.1; done'`

/** Runs a shell that does not become its last command, as `npm run` and `make` do not. */
function shell(line: string, ...words: readonly string[]): string[] {
  return ['sh', '-c', `echo shell $$; ${line}`, process.execPath, '-e', WORKER, bench.file('go'), ...words]
}

async function pidOf(running: Running, name: string): Promise<number> {
  return Number((await running.printed(new RegExp(`${name} (\\d+)`)))[1])
}

async function ended(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(10)
}

describe('after a signal', () => {
  it('the lock is kept until the worker below the first process has ended', async () => {
    const running = bench.start(['run', 'key', '--', ...shell('"$0" "$@"; true')])
    const first = await pidOf(running, 'shell')
    bench.endAtLast(first)
    const worker = await pidOf(running, 'worker')
    running.signal('SIGTERM')
    await running.printed(/cleaning/)
    await ended(first)
    await using locks = await connect(bench.store)
    expect(isAlive(worker)).toBe(true)
    await expect(locks.acquire('key', { wait: 300 })).rejects.toThrow(LockTimeoutError)
    writeFileSync(bench.file('go'), '')
    expect((await running.finished).code).toBe(143)
    expect(isAlive(worker)).toBe(false)
    expect((await locks.read('key')).holders).toEqual([])
  })

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '%s: a group that goes on gets SIGKILL when --grace is over, and then the lock is free',
    async (signal) => {
      const running = bench.start(['run', 'key', '--grace', '300ms', '--', 'sh', '-c', `${DEAF}; true`])
      const worker = await pidOf(running, 'worker')
      running.signal(signal)
      const { code, stderr } = await running.finished
      expect(code).toBe(137)
      expect(stderr).toBe(`holdfast: the command did not end within 300 ms after ${signal} and was killed\n`)
      expect(isAlive(worker)).toBe(false)
      await using locks = await connect(bench.store)
      expect((await locks.read('key')).holders).toEqual([])
    },
  )

  it('a worker that goes on gets SIGKILL, and the exit code is that of the first process, which ended in time', async () => {
    const first = `
      process.on('SIGTERM', () => process.exit(5))
      child_process.spawn('sh', ['-c', process.argv[1]], { stdio: 'inherit' })`
    const command = [process.execPath, '-e', first, DEAF]
    const running = bench.start(['run', 'key', '--grace', '300ms', '--', ...command])
    const worker = await pidOf(running, 'worker')
    running.signal('SIGTERM')
    expect((await running.finished).code).toBe(5)
    expect(isAlive(worker)).toBe(false)
    await using locks = await connect(bench.store)
    expect((await locks.read('key')).holders).toEqual([])
  })

  it('--grace forever leaves it all the time', async () => {
    const slow = `process.on('SIGTERM', () => setTimeout(() => process.exit(5), 500)); setInterval(() => {}, 1_000); console.log('started')`
    const running = bench.start(['run', 'key', '--grace', 'forever', '--', process.execPath, '-e', slow])
    await running.printed(/started/)
    running.signal('SIGTERM')
    expect(await running.finished).toMatchObject({ code: 5, stderr: '' })
  })
})

describe('processes that the command leaves behind', () => {
  const leave = (...options: readonly string[]): Running =>
    bench.start(['run', 'key', '--ttl', '2s', ...options, '--', ...shell('"$0" "$@" & exit 3', 'background')])

  it('keeps the lock beyond its ttl, is reported, and does not change the exit code', async () => {
    const running = leave()
    bench.endAtLast(await pidOf(running, 'shell'))
    const worker = await pidOf(running, 'worker')
    await running.printed(
      new RegExp(
        `^holdfast: the command has ended and left processes behind \\(${worker}\\); "key" stays locked .*setsid`,
      ),
      'stderr',
    )
    await using locks = await connect(bench.store)
    await expect(locks.acquire('key', { wait: '3s' })).rejects.toThrow(LockTimeoutError)
    writeFileSync(bench.file('go'), '')
    expect((await running.finished).code).toBe(3)
    expect((await locks.read('key')).holders).toEqual([])
  })

  it('is not reported with --quiet', async () => {
    const running = leave('--quiet')
    bench.endAtLast(await pidOf(running, 'shell'))
    await pidOf(running, 'worker')
    // Longer than it takes to say it.
    await sleep(1_000)
    writeFileSync(bench.file('go'), '')
    expect(await running.finished).toMatchObject({ code: 3, stderr: '' })
  })

  it('is ended when the lease is lost', async () => {
    const running = leave()
    bench.endAtLast(await pidOf(running, 'shell'))
    const worker = await pidOf(running, 'worker')
    await running.printed(/left processes behind/, 'stderr')
    await using locks = await connect(bench.store)
    expect(await locks.evict('key')).toHaveLength(1)
    expect((await running.finished).code).toBe(76)
    expect(isAlive(worker)).toBe(false)
  })

  it('is ended by a signal', async () => {
    const running = leave('--grace', '300ms')
    bench.endAtLast(await pidOf(running, 'shell'))
    const worker = await pidOf(running, 'worker')
    await running.printed(/left processes behind/, 'stderr')
    running.signal('SIGTERM')
    expect((await running.finished).code).toBe(3)
    expect(isAlive(worker)).toBe(false)
  })
})

describe.runIf(process.platform === 'linux')('a zombie', () => {
  /** A child that ends when it is told to, of a program that knows nothing of it and never collects it. */
  const parentOf = (program: string): string =>
    `sh -c 'while [ ! -e "$0" ]; do sleep 0.02; done' "$0" & echo zombie $!; echo parent $$; exec ${program}`

  async function leaveZombie(parent: number, zombie: number): Promise<void> {
    // A shell would collect it: it must have become the program before.
    while (readFileSync(`/proc/${parent}/comm`, 'utf8') !== 'sleep\n') await sleep(10)
    writeFileSync(bench.file('go'), '')
    while (stateOf(zombie) !== 'Z') await sleep(10)
  }

  it('does not keep the lock, nor does a process that has left the group', async () => {
    const command = ['sh', '-c', 'sh -c "$0" "$1" & exit 4', parentOf('setsid sleep 60'), bench.file('go')]
    const running = bench.start(['run', 'key', '--', ...command])
    const parent = await pidOf(running, 'parent')
    const zombie = await pidOf(running, 'zombie')
    try {
      await leaveZombie(parent, zombie)
      expect((await running.finished).code).toBe(4)
      expect([stateOf(zombie), isAlive(parent)]).toEqual(['Z', true])
      await using locks = await connect(bench.store)
      expect((await locks.read('key')).holders).toEqual([])
    } finally {
      process.kill(parent, 'SIGKILL')
    }
  })

  it.each([
    ['/proc', lookInProc],
    ['ps', lookByPs],
  ] as const)('is not among those who run, by %s', async (_, look) => {
    const args = ['-c', parentOf('sleep 60'), bench.file('go')]
    const leader = spawn('sh', args, { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
    const group = leader.pid!
    bench.endAtLast(group)
    const lines = createInterface(leader.stdout)[Symbol.asyncIterator]()
    const zombie = Number(/zombie (\d+)/.exec((await lines.next()).value)?.[1])
    expect(await look(group)).toEqual(expect.arrayContaining([group, zombie]))
    await leaveZombie(group, zombie)
    expect(await look(group)).toEqual([group])
    expect(await look(group, [group, zombie])).toEqual([group])
    expect(await look(group, [zombie])).toEqual([])
    expect(await look(group, [process.pid])).toBeNull()
    expect(await look(2 ** 30)).toBeNull()
  })
})
