import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { connect } from '../../src/index.ts'
import { Bench, listener } from './support/command.ts'

const bench = new Bench()

describe('a signal while the lock is waited for', () => {
  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const)(
    '%s ends the wait with %i; the command is never started and the position in the queue is given up',
    async (signal, code) => {
      await using locks = await connect(bench.store)
      const lease = await locks.acquire('key')
      const running = bench.start(['run', 'key', '--wait', 'forever', '--', 'touch', bench.file('ran')])
      await running.printed(/waiting for/, 'stderr')
      running.signal(signal)
      expect((await running.finished).code).toBe(code)
      expect((await locks.read('key')).queue).toEqual([])
      await lease.release()
      expect(existsSync(bench.file('ran'))).toBe(false)
    },
  )
})

describe('a signal while the command runs', () => {
  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
    ['SIGQUIT', 131],
    ['SIGUSR1', 138],
    ['SIGUSR2', 140],
  ] as const)(
    '%s is passed on, and the lock is released when the command has ended by it',
    async (signal, code) => {
      const running = bench.start(['run', 'key', '--', 'sh', '-c', 'echo started; exec sleep 30'])
      await running.printed(/started/)
      running.signal(signal)
      expect((await running.finished).code).toBe(code)
      await using locks = await connect(bench.store)
      expect((await locks.read('key')).holders).toEqual([])
    },
  )

  it('leaves it to the command what to make of it, and keeps the lock until it has ended', async () => {
    const reaction = `console.log('cleaning'); setTimeout(() => process.exit(5), 300)`
    const running = bench.start(['run', 'key', '--', ...listener('SIGTERM', reaction)])
    await running.printed(/started/)
    running.signal('SIGTERM')
    await running.printed(/cleaning/)
    await using locks = await connect(bench.store)
    expect((await locks.read('key')).holders).toHaveLength(1)
    expect((await running.finished).code).toBe(5)
    expect((await locks.read('key')).holders).toEqual([])
  })

  it('passes on every one, not only the first', async () => {
    const reaction = `globalThis.count ??= 0; console.log('got', ++count); if (count === 3) process.exit(9)`
    const running = bench.start(['run', 'key', '--', ...listener('SIGINT', reaction)])
    await running.printed(/started/)
    for (const count of [1, 2, 3]) {
      running.signal('SIGINT')
      await running.printed(new RegExp(`got ${count}`))
    }
    expect((await running.finished).code).toBe(9)
  })
})

describe('a signal at any moment', () => {
  const DELAYS_MS = [40, 60, 80, 100, 120, 140, 170, 200]

  it('never lets the command start after it was heard', async () => {
    for (const delayMs of DELAYS_MS) {
      const marker = bench.file(`ran-${delayMs}`)
      const running = bench.start(['run', 'key', '--', 'sh', '-c', 'touch "$0"; sleep 5', marker])
      await new Promise((resolve) => setTimeout(resolve, delayMs))
      running.signal('SIGTERM')
      const { code, signal, stderr } = await running.finished
      const heardBefore = stderr.includes('the command was not started') || signal === 'SIGTERM'
      expect({
        delayMs,
        ran: existsSync(marker) && heardBefore,
        ended: code === 143 || signal === 'SIGTERM',
      }).toEqual({
        delayMs,
        ran: false,
        ended: true,
      })
    }
    await using locks = await connect(bench.store)
    expect((await locks.read('key')).holders).toEqual([])
  })
})
