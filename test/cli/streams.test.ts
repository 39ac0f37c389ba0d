import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../../scripts/servers/redis.ts'
import { connect } from '../../src/index.ts'
import { Bench, Running, withoutSqlite } from './support/command.ts'

const bench = new Bench()

describe('a reader of stdout that has seen enough', () => {
  it.each([
    [['--help'], 0],
    [['help', 'run'], 0],
    [['--version'], 0],
    [['ls'], 0],
    [['ls', '--json'], 0],
    [['show', 'key'], 0],
    [['top'], 0],
    [['top', '--every', '100ms'], 0],
    [['deadlocks'], 0],
    [['reap'], 0],
    [['doctor', '--watch', '10ms'], 0],
    [['lab', '--list'], 0],
    [['migrate', '--print', '--store', 'postgres://'], 0],
    [['evict', 'other', '--yes'], 1],
  ])('%j ends quietly, with its own exit code', async (args, code) => {
    await using locks = await connect(bench.store)
    await using _lease = await locks.acquire('key')
    const running = bench.start(args)
    running.stopReading('stdout')
    expect(await running.finished).toMatchObject({ code, signal: null, stderr: '' })
  })

  it('ends the lab, with its exit code 141', async () => {
    const running = bench.start(['lab'])
    await running.printed(/This lab uses/)
    running.stopReading('stdout')
    expect(await running.finished).toMatchObject({ code: 141, stderr: '' })
  })
})

it.runIf(existsSync('/dev/full'))('a full disk under stdout is told, with exit code 1', async () => {
  const line = 'exec "$0" "$@" > /dev/full'
  const args = ['-c', line, process.execPath, bench.main, 'ls', '--store', bench.store]
  const end = await new Running('sh', args, process.env).finished
  expect(end).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^holdfast: stdout cannot be written: .*ENOSPC/),
  })
})

describe('warnings of the process', () => {
  const WARN = `
    process.once('beforeExit', () => {
      process.emitWarning('this is new', 'ExperimentalWarning')
      process.emitWarning('this is old', 'DeprecationWarning')
      process.emitWarning('mind the store', 'HoldfastWarning')
    })`

  it.each([[['ls']], [['run', 'key', '--', 'true']]])(
    '%j says them in our words, and none about Node',
    async (args) => {
      const { code, stderr } = await bench.startWith(WARN, args).finished
      expect({ code, stderr }).toEqual({ code: 0, stderr: 'holdfast: warning: mind the store\n' })
    },
  )

  it('are not said by run --quiet', async () => {
    const { code, stderr } = await bench.startWith(WARN, ['run', 'key', '-q', '--', 'true']).finished
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  it('are not printed when Node has them disabled', async () => {
    const { stderr } = await bench.startWith(WARN, ['ls'], { NODE_NO_WARNINGS: '1' }).finished
    expect(stderr).toBe('')
  })
})

describe('a Redis server that endangers locks', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis({ args: ['--save', ''] })
  })
  afterAll(() => server?.stop())

  const run = (...options: readonly string[]): Running => {
    const store = `redis://127.0.0.1:${server.port}`
    return bench.start(['run', 'key', ...options, '--store', store, '--', 'sleep', '2'])
  }

  it('is reported by run, in one line', async () => {
    const running = run()
    await running.printed(
      /^holdfast: warning: the Redis server on port \d+ keeps nothing over a restart/,
      'stderr',
    )
    running.signal('SIGTERM')
    expect((await running.finished).stderr).not.toMatch(/\(node:|trace-warnings/)
  })

  it('is not reported by run --quiet', async () => {
    expect(await run('--quiet').finished).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('without SQLite', () => {
  it.each([
    [['ls']],
    [['show', 'key']],
    [['evict', 'key', '--yes']],
    [['top']],
    [['doctor']],
    [['reap']],
    [['deadlocks']],
    [['run', 'key', '--', 'true']],
  ])('%j says what to install, in one line', async (args) => {
    const env = { HOLDFAST_STORE: '', XDG_STATE_HOME: bench.file('state') }
    const end = await bench.startWith(withoutSqlite(), args, env).finished
    expect(end).toMatchObject({ code: 64, stdout: '' })
    expect(end.stderr).toMatch(
      /^holdfast: the SQLite store needs Node .*: npm install @photostructure\/sqlite[^\n]*\n$/,
    )
    expect(end.stderr).not.toMatch(/Require stack/)
  })

  it('a process of the lab that needs it passes the reason and the exit code on', async () => {
    const preload = withoutSqlite('ioredis', 'redis', '@redis/client', '@valkey/valkey-glide')
    const end = await bench.startWith(preload, ['lab', 'fenced-crash']).finished
    expect(end.code).toBe(64)
    expect(end.stderr).toMatch(/^holdfast: process \w failed: the SQLite store needs Node [^\n]*\n$/)
  })
})
