import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { connect } from '../../src/index.ts'
import { Bench } from './support/command.ts'

const bench = new Bench()

describe('exit code', () => {
  it.each([
    ['its own', ['sh', '-c', 'exit 7'], 7],
    ['128 and the signal that ended it', ['sh', '-c', 'kill -9 $$'], 137],
    ['127 for a program that is not there', ['no-such-program'], 127],
    ['126 for a file that is not a program', ['/etc/passwd'], 126],
  ])('of the command: %s', async (_, command, code) => {
    expect(await bench.holdfast(['run', 'key', '--', ...command])).toMatchObject({ code, stdout: '' })
  })

  it('is 64 for bad usage, with a line that says what was wrong', async () => {
    const end = await bench.holdfast(['run', 'key', 'true'])
    expect(end).toMatchObject({ code: 64, stdout: '' })
    expect(end.stderr).toMatch(/^holdfast: the command is missing: put it after --$/m)
  })

  it.each([
    [
      'a grace beyond the limit',
      ['run', 'key', '--grace', '25h', '--', 'true'],
      /--grace must be at most 24h/,
    ],
    ['a ttl beyond the limit', ['run', 'key', '--ttl', '48h', '--', 'true'], /ttl/],
    ['a key that is too long', ['run', 'k'.repeat(513), '--', 'true'], /key/],
    ['a store nobody knows', ['run', 'key', '--store', 'gopher://x', '--', 'true'], /gopher/],
  ])('is 64 for %s', async (_, args, message) => {
    const end = await bench.holdfast(args)
    expect(end.code).toBe(64)
    expect(end.stderr).toMatch(message)
  })

  it('is 69 when the store cannot be reached, and the command is not started', async () => {
    const store = `sqlite:${bench.file('nowhere/locks.db')}`
    const end = await bench.holdfast(['run', 'key', '--store', store, '--', 'touch', bench.file('ran')])
    expect(end).toMatchObject({ code: 69, stdout: '' })
    expect(end.stderr).toMatch(/^holdfast: /)
    expect(existsSync(bench.file('ran'))).toBe(false)
  })
})

describe('the command', () => {
  it('gets its key and token, and not the address of the store', async () => {
    const { code, stdout } = await bench.holdfast(['run', 'order:42', '--', 'env'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^HOLDFAST_KEY=order:42$/m)
    expect(stdout).toMatch(/^HOLDFAST_TOKEN=\d{15,19}$/m)
    expect(stdout).not.toContain('HOLDFAST_STORE')
  })

  it('gets a higher token every time', async () => {
    const token = async (): Promise<bigint> => {
      const { stdout } = await bench.holdfast(['run', 'key', '--', 'sh', '-c', 'echo $HOLDFAST_TOKEN'])
      return BigInt(stdout.trim())
    }
    const first = await token()
    expect(await token()).toBeGreaterThan(first)
  })

  it('is started without a shell: its arguments arrive as they are', async () => {
    const args = ['$HOME', '; echo no', '--help', '*']
    const { stdout } = await bench.holdfast(['run', 'key', '--', 'printf', '%s|', ...args])
    expect(stdout).toBe(`${args.join('|')}|`)
  })

  it('is shown to operators by the name of its program, without its arguments', async () => {
    const running = bench.start([
      'run',
      'key',
      '--',
      'sh',
      '-c',
      'echo started; exec sleep 30',
      'secret-argument',
    ])
    await running.printed(/started/)
    const { stdout } = await bench.holdfast(['show', 'key', '--json'])
    expect(JSON.parse(stdout).holders[0].meta).toEqual({ command: 'sh' })
    expect(stdout).not.toContain('secret-argument')
    running.signal('SIGTERM')
  })

  it('has the lock while it runs, and it is free afterwards', async () => {
    const script = 'echo started; while [ ! -e "$0" ]; do sleep 0.02; done'
    const running = bench.start(['run', 'key', '--', 'sh', '-c', script, bench.file('go')])
    await running.printed(/started/)
    await using locks = await connect(bench.store)
    expect((await locks.read('key')).holders).toHaveLength(1)
    writeFileSync(bench.file('go'), '')
    await running.finished
    expect((await locks.read('key')).holders).toHaveLength(0)
  })
})

describe('a busy key', () => {
  it('ends --no-wait at once with 75, names the holder, and does not start the command', async () => {
    await using locks = await connect(bench.store, { label: 'somebody:1' })
    await using _lease = await locks.acquire('key')
    const end = await bench.holdfast(['run', 'key', '--no-wait', '--', 'touch', bench.file('ran')])
    expect(end).toMatchObject({ code: 75, stdout: '' })
    expect(end.stderr).toMatch(/"key" was not free.*held by somebody:1/)
    expect(existsSync(bench.file('ran'))).toBe(false)
  })

  it('ends --wait with 75 when the time is over', async () => {
    await using locks = await connect(bench.store)
    await using _lease = await locks.acquire('key')
    const end = await bench.holdfast(['run', 'key', '--wait', '300ms', '--', 'touch', bench.file('ran')])
    expect(end.code).toBe(75)
    expect(existsSync(bench.file('ran'))).toBe(false)
  })

  it('ends with 75, too, when stderr has no reader', async () => {
    await using locks = await connect(bench.store)
    await using _lease = await locks.acquire('key')
    const running = bench.start(['run', 'key', '--wait', '300ms', '--', 'touch', bench.file('ran')])
    running.stopReading('stderr')
    expect((await running.finished).code).toBe(75)
    expect(existsSync(bench.file('ran'))).toBe(false)
  })

  it('is waited for, with one line that names the holder', async () => {
    await using locks = await connect(bench.store, { label: 'somebody:1' })
    const lease = await locks.acquire('key')
    const running = bench.start(['run', 'key', '--', 'echo', 'mine'])
    await running.printed(/waiting for "key", held by somebody:1 for .*, we are next\n/, 'stderr')
    expect(running.stdout).toBe('')
    await lease.release()
    expect(await running.finished).toMatchObject({ code: 0, stdout: 'mine\n' })
    expect(running.stderr.trim().split('\n')).toHaveLength(1)
  })

  it('is waited for in silence with --quiet', async () => {
    await using locks = await connect(bench.store)
    const lease = await locks.acquire('key')
    const running = bench.start(['run', 'key', '--quiet', '--', 'true'])
    while ((await locks.read('key')).queue.length === 0) await new Promise(setImmediate)
    await lease.release()
    expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('modes', () => {
  it('lets --shared runs in together and keeps an exclusive one out', async () => {
    const reader = bench.start(['run', 'key', '--shared', '--', 'sh', '-c', 'echo started; exec sleep 30'])
    await reader.printed(/started/)
    expect((await bench.holdfast(['run', 'key', '--shared', '--no-wait', '--', 'true'])).code).toBe(0)
    expect((await bench.holdfast(['run', 'key', '--no-wait', '--', 'true'])).code).toBe(75)
    reader.signal('SIGTERM')
  })

  it('lets as many in as --limit says, and refuses another limit as bad usage', async () => {
    const holders = [1, 2].map(() =>
      bench.start(['run', 'key', '--limit', '2', '--', 'sh', '-c', 'echo started; exec sleep 30']),
    )
    await Promise.all(holders.map((holder) => holder.printed(/started/)))
    expect((await bench.holdfast(['run', 'key', '--limit', '2', '--no-wait', '--', 'true'])).code).toBe(75)
    expect((await bench.holdfast(['run', 'key', '--limit', '3', '--no-wait', '--', 'true'])).code).toBe(64)
    for (const holder of holders) holder.signal('SIGTERM')
  })
})

it('never runs two commands at once: a counter that is read and written by many comes out right', async () => {
  const add = 'n=$(cat "$0" 2>/dev/null || echo 0); sleep 0.02; echo $((n + 1)) > "$0"'
  const counter = bench.file('counter')
  const runs = Array.from({ length: 8 }, () =>
    bench.holdfast(['run', 'key', '-q', '--', 'sh', '-c', add, counter]),
  )
  for (const end of await Promise.all(runs)) expect(end).toMatchObject({ code: 0, stderr: '' })
  expect(readFileSync(counter, 'utf8').trim()).toBe('8')
})

it('uses an SQLite file in the state folder when no store is named', async () => {
  const env = { HOLDFAST_STORE: '', XDG_STATE_HOME: bench.file('state') }
  expect((await bench.holdfast(['run', 'key', '--', 'true'], env)).code).toBe(0)
  expect(existsSync(bench.file('state/holdfast/locks.db'))).toBe(true)
})
