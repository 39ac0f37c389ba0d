import { expect, test } from 'vitest'
import { failure, Scene } from '../core/support.ts'

const never = (signal: AbortSignal) =>
  new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('stopped'), { once: true }))

test('one leads; when it resigns the next one does, after the work of the first has ended', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party({ label: 'a' }), scene.party({ label: 'b' })]
  const [first, second] = [a.locks.election('boss', { meta: { url: 'http://a' } }), b.locks.election('boss')]
  const told: string[] = []
  first.on('elected', () => told.push('a elected'))
  first.on('resigned', () => told.push('a resigned'))
  second.on('elected', () => told.push('b elected'))
  const terms = [
    first.lead(async (_, signal) => {
      const end = await never(signal)
      told.push('a stopped')
      return end
    }),
    second.lead((_, signal) => never(signal)),
  ]
  await scene.runtime.advance(100)
  expect(await second.leader()).toMatchObject({ label: 'a', meta: { url: 'http://a' } })
  await scene.runtime.until(first.resign())
  await scene.runtime.advance(2000)
  expect(await first.leader()).toMatchObject({ label: 'b', meta: null })
  await scene.runtime.until(second.resign())
  expect(await Promise.all(terms)).toEqual(['stopped', 'stopped'])
  expect(told).toEqual(['a elected', 'a stopped', 'a resigned', 'b elected'])
  expect(await first.leader()).toBeNull()
})

test('a leader that is cut off stops before the next one starts, and campaigns again', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party({ ttl: '10s' }), scene.party({ ttl: '10s' })]
  const [first, second] = [a.locks.election('boss'), b.locks.election('boss')]
  let stoppedMs = 0
  let startedMs = 0
  let terms = 0
  const term = first.lead(async (_, signal) => {
    terms++
    await never(signal)
    stoppedMs ||= scene.runtime.nowMs()
  })
  await scene.runtime.advance(100)
  const other = second.lead(async (_, signal) => {
    startedMs = scene.runtime.nowMs()
    return never(signal)
  })
  await scene.runtime.advance(5000)
  a.faults.cut()
  await scene.runtime.advance(30_000)
  expect(stoppedMs).toBeGreaterThan(0)
  expect(startedMs).toBeGreaterThan(stoppedMs)
  a.faults.heal()
  await scene.runtime.until(second.resign())
  await other
  await scene.runtime.advance(20_000)
  expect(terms).toBe(2)
  await scene.runtime.until(first.resign())
  await term
})

test('the work’s own error ends the term', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const election = locks.election('boss')
  expect(
    (await scene.runtime.until(failure(election.lead(() => Promise.reject(new Error('broken')))))).message,
  ).toBe('broken')
  expect(await election.leader()).toBeNull()
  expect(await scene.runtime.until(election.lead(() => 'done'))).toBe('done')
})

test('a campaign ends by its signal or by resigning', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const leading = a.locks.election('boss')
  const term = leading.lead((_, signal) => never(signal))
  await scene.runtime.drain()
  const other = b.locks.election('boss')
  const stop = new AbortController()
  const campaign = failure(other.lead(() => 'never', { signal: stop.signal }))
  await scene.runtime.drain()
  expect((await failure(other.lead(() => 'twice'))).code).toBe('CONFLICT')
  stop.abort(new Error('enough'))
  expect((await scene.runtime.until(campaign)).message).toBe('enough')
  const again = other.lead(() => 'never')
  await scene.runtime.drain()
  await scene.runtime.until(other.resign())
  expect(await again).toBeUndefined()
  await scene.runtime.until(leading.resign())
  await term
})

test('observers see the leader, at once and after every change', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party({ label: 'a' }), scene.party()]
  const seen: (string | null)[] = []
  const stop = new AbortController()
  const watching = (async () => {
    for await (const leader of b.locks.election('boss').observe({ every: '100ms', signal: stop.signal }))
      seen.push(leader?.label ?? null)
  })()
  await scene.runtime.advance(500)
  const election = a.locks.election('boss')
  const term = election.lead((_, signal) => never(signal))
  await scene.runtime.advance(500)
  await scene.runtime.until(election.resign())
  await term
  await scene.runtime.advance(500)
  stop.abort()
  await watching
  expect(seen).toEqual([null, 'a', null])
})

test.each([2500, 5000])(
  'finished work is not repeated because the event loop stood still for %i ms of 3000 at its end',
  async (ms) => {
    const scene = new Scene()
    const { locks } = scene.party({ ttl: '3s' })
    let runs = 0
    const led = locks.election('boss').lead(() => {
      if (++runs > 1) throw new Error('the work was repeated')
      scene.runtime.stall(ms)
      return runs
    })
    expect(await scene.runtime.until(led)).toBe(1)
  },
)
