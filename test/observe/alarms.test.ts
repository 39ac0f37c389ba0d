import { setTimeout as sleep } from 'node:timers/promises'
import { type Alarm, observe } from 'holdfast/observe'
import { FakeRuntime } from 'holdfast/testing'
import { expect, onTestFinished, test } from 'vitest'
import { failure, Scene } from '../core/support.ts'

/** Alarms as they are told, shortened to what matters. */
function told(alarms: readonly Alarm[]): string[] {
  return alarms.map(({ rule, state, pattern }) => `${rule} ${state}${pattern === null ? '' : ` ${pattern}`}`)
}

test('rules fire once when they begin to be broken and resolve when the window has passed', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const alarms: Alarm[] = []
  const { runtime } = scene
  const observer = observe([a.locks, b.locks], {
    runtime,
    window: '1m',
    every: '5s',
    onAlarm: (alarm) => alarms.push(alarm),
  })
  await runtime.advance(10_000)
  expect(alarms).toEqual([])

  const holder = await runtime.until(a.locks.acquire('order:1'))
  for (let tried = 0; tried < 2; tried++)
    await runtime.until(failure(b.locks.acquire('order:1', { wait: 200 })))
  for (let free = 0; free < 3; free++) await runtime.until(a.locks.using(`cart:${free}`, async () => {}))
  await runtime.advance(10_000)
  expect(told(alarms)).toEqual([
    'successRate firing order:*',
    'waitP99 firing order:*',
    'timeouts firing order:*',
  ])
  expect(alarms[0]).toMatchObject({ value: 1 / 3, limit: 0.8, alert: 'HoldfastLowSuccessRate' })

  alarms.length = 0
  await runtime.until(a.locks.evict('order:1'))
  observer.collector.keysWithoutTtl = 4
  await runtime.advance(10_000)
  expect(holder.held).toBe(false)
  expect(told(alarms)).toEqual(['losses firing order:*', 'keysWithoutTtl firing'])
  expect(alarms[1]).toMatchObject({ value: 4, severity: 'critical' })

  alarms.length = 0
  observer.collector.keysWithoutTtl = 0
  await runtime.advance(70_000)
  expect(told(alarms).sort()).toEqual([
    'keysWithoutTtl resolved',
    'losses resolved order:*',
    'successRate resolved order:*',
    'timeouts resolved order:*',
    'waitP99 resolved order:*',
  ])
  observer.close()
})

test('an end that its holder wished raises no alarm, nor does a caller that does not wait', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const { runtime } = scene
  const alarms: Alarm[] = []
  const observer = observe(locks, { runtime, every: '5s', onAlarm: (alarm) => alarms.push(alarm) })
  const lease = await runtime.until(locks.acquire('job:1'))
  for (let tried = 0; tried < 10; tried++) expect(await runtime.until(locks.tryAcquire('job:1'))).toBeNull()
  await runtime.until(locks.adopt(JSON.parse(JSON.stringify(lease))))
  await runtime.advance(20_000)
  expect(alarms).toEqual([])
  observer.close()
})

test('limits can be changed and rules left out; what makes no sense is refused by name', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const { runtime } = scene
  const alarms: Alarm[] = []
  const rules = { timeouts: 1, waitP99: false, successRate: false } as const
  const observer = observe(b.locks, { runtime, rules, onAlarm: (alarm) => alarms.push(alarm) })
  await runtime.until(a.locks.acquire('k'))
  await runtime.until(failure(b.locks.acquire('k', { wait: 200 })))
  await runtime.advance(10_000)
  expect(alarms).toEqual([])
  await runtime.until(failure(b.locks.acquire('k', { wait: 200 })))
  await runtime.advance(10_000)
  expect(told(alarms)).toEqual(['timeouts firing k'])
  observer.close()

  const { locks } = scene.party()
  const onAlarm = () => {}
  expect(() => observe(locks, { onAlarm, rules: { waits: 1 } as never })).toThrow('unknown option "waits"')
  expect(() => observe(locks, { onAlarm, rules: { timeouts: -1 } })).toThrow('rules.timeouts')
  expect(() => observe(locks, { onAlarm, every: 1 })).toThrow('every')
  expect(() => observe(locks, { webhook: 'ftp://x' })).toThrow('webhook.url')
  expect(() => observe(locks, { webhook: 'https://a:secret@x/' })).toThrow(/^(?!.*secret).*webhook\.url/)
  expect(() => observe(locks, { webhook: { url: 'https://x', tries: 0 } })).toThrow('webhook.tries')
  expect(() => observe(locks, { maxPatterns: -1 })).toThrow('maxPatterns')
})

test('a hook that fails ends nothing, and closing leaves no timer', async () => {
  const runtime = new FakeRuntime()
  const scene = new Scene()
  const { locks } = scene.party()
  const lines: unknown[][] = []
  const write = (...line: unknown[]) => lines.push(line)
  const observer = observe(locks, {
    runtime,
    logger: { info: write, warn: write, error: write },
    onAlarm: async () => {
      throw new Error('no pager at redis://user:hidden@host')
    },
  })
  observer.collector.keysWithoutTtl = 1
  await runtime.advance(6000)
  await sleep(0)
  expect(lines.map(([, message]) => message)).toEqual([
    expect.stringContaining('have no time to live'),
    'a hook for alarms failed: Error: no pager at redis://***@host',
  ])
  observer.close()
  observer.collector.keysWithoutTtl = 0
  await runtime.advance(60_000)
  expect(lines).toHaveLength(2)
  onTestFinished(() => scene.runtime.drain())
})
