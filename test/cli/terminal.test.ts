import { describe, expect, it } from 'vitest'
import { widthOf } from '../../src/cli/text.ts'
import { connect } from '../../src/index.ts'
import { Bench, TERMINALS } from './support/command.ts'

const bench = new Bench()
const COLOUR = '\x1b['

// Without util-linux's `script` there is no terminal to test on.
describe.runIf(TERMINALS)('on a terminal', () => {
  it.each([
    ['y\r', 0, 'evicted somebody:1', 0],
    ['yes\r', 0, 'evicted somebody:1', 0],
    ['n\r', 1, 'left alone', 1],
    ['\r', 1, 'left alone', 1],
    ['\x03', 1, 'left alone', 1],
    ['\x04', 1, 'left alone', 1],
  ])(
    'evict shows the holder and asks; the answer %j ends with %i: %s',
    async (answer, code, outcome, holders) => {
      await using locks = await connect(bench.store, { label: 'somebody:1' })
      await using lease = await locks.acquire('key')
      const running = bench.startOnTerminal(100, ['evict', 'key'])
      await running.printed(/Evict 1 holder\? \[y\/N\] /)
      expect(running.stdout).toContain(`${lease.token}`)
      running.type(answer)
      expect((await running.finished).code).toBe(code)
      expect(running.stdout).toContain(`key: ${outcome}`)
      expect((await locks.read('key')).holders).toHaveLength(holders)
    },
  )

  it('evict leaves a holder alone that came while it asked', async () => {
    await using locks = await connect(bench.store, { label: 'first:1' })
    const lease = await locks.acquire('key')
    const running = bench.startOnTerminal(100, ['evict', 'key'])
    await running.printed(/\[y\/N\] /)
    await lease.release()
    await using _next = await locks.acquire('key')
    running.type('y\r')
    expect((await running.finished).code).toBe(1)
    expect(running.stdout).toContain('nothing was evicted: the holder let go in the meantime')
    expect((await locks.read('key')).holders).toHaveLength(1)
  })

  it('tables have colours, unless NO_COLOR is set, and fit', async () => {
    await using locks = await connect(bench.store, {
      label: `a-host-with-a-long-name.example.org:${'1'.repeat(20)}`,
    })
    await using _lease = await locks.acquire(`order:${'4'.repeat(60)}`)
    const coloured = bench.startOnTerminal(70, ['ls'])
    await coloured.finished
    expect(coloured.stdout).toContain(COLOUR)
    const plain = bench.startOnTerminal(70, ['ls'], { NO_COLOR: '1' })
    await plain.finished
    expect(plain.stdout).not.toContain(COLOUR)
    const off = bench.startOnTerminal(70, ['ls'], { FORCE_COLOR: '0' })
    await off.finished
    expect(off.stdout).not.toContain(COLOUR)
    expect(plain.stdout).toMatch(/order:4+…/)
    for (const line of plain.stdout.split('\r\n')) expect(widthOf(line)).toBeLessThanOrEqual(70)
  })

  it('run keeps one line about the wait up to date, and takes it away', async () => {
    await using locks = await connect(bench.store, { label: 'somebody:1' })
    const lease = await locks.acquire('key')
    const running = bench.startOnTerminal(120, ['run', 'key', '--', 'echo', 'mine'])
    await running.printed(/waiting for "key", held by somebody:1 for .*, we are next, giving up in \d+ s/)
    await running.printed(/waiting for [^\n]*\r.\[K[^\n]*waiting for /)
    await lease.release()
    expect((await running.finished).code).toBe(0)
    expect(running.stdout.endsWith('\r\x1b[Kmine\r\n')).toBe(true)
  })

  it('run hands the terminal to the command: what is typed reaches it, and Ctrl-C ends it', async () => {
    const talking = bench.startOnTerminal(80, [
      'run',
      'key',
      '--',
      'sh',
      '-c',
      'echo name; read name; echo "hello $name"',
    ])
    await talking.printed(/name\r\n/)
    talking.type('Ada\r')
    expect((await talking.finished).code).toBe(0)
    expect(talking.stdout).toContain('hello Ada')
    const stopped = bench.startOnTerminal(80, ['run', 'key', '--', 'sh', '-c', 'echo started; exec sleep 30'])
    await stopped.printed(/started/)
    stopped.type('\x03')
    expect((await stopped.finished).code).toBe(130)
  })
})
