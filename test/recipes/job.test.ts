import { createLocks } from 'holdfast'
import { expect, test } from 'vitest'
import { failure, Scene } from '../core/support.ts'

test('of three replicas that start together one runs the job, and none runs it again within atLeast', async () => {
  const scene = new Scene()
  const replicas = [scene.party(), scene.party(), scene.party()]
  let runs = 0
  const tick = () =>
    scene.runtime.until(
      Promise.all(
        replicas.map(({ locks }) => locks.job('nightly', { atLeast: '1m', atMost: '1h' }, () => void runs++)),
      ),
    )
  expect((await tick()).sort()).toEqual(['ran', 'skipped', 'skipped'])
  await scene.runtime.advance(59_000)
  expect(await tick()).toEqual(['skipped', 'skipped', 'skipped'])
  await scene.runtime.advance(1001)
  expect((await tick()).sort()).toEqual(['ran', 'skipped', 'skipped'])
  expect(runs).toBe(2)
})

test('without atLeast it may run again as soon as it has ended', async () => {
  await using locks = createLocks()
  expect(await locks.job('x', () => {})).toBe('ran')
  expect(await locks.job('x', () => {})).toBe('ran')
  let inner = ''
  await locks.job('x', async () => {
    inner = await locks.job('x', () => {})
  })
  expect(inner).toBe('skipped')
})

test('a job that runs beyond atMost is aborted, and another may run', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party({ ttl: '10s' }), scene.party()]
  let told = 0
  const late = failure(
    a.locks.job('x', { atMost: '1m' }, (lease) => {
      return new Promise((resolve) =>
        lease.signal.addEventListener('abort', () => {
          told = scene.runtime.nowMs()
          resolve(undefined)
        }),
      )
    }),
  )
  await scene.runtime.advance(55_000)
  expect(await b.locks.job('x', () => {})).toBe('skipped')
  await scene.runtime.advance(20_000)
  expect((await late).code).toBe('LEASE_LOST')
  expect(told).toBeGreaterThan(55_000)
  expect(told).toBeLessThanOrEqual(70_000)
  expect(await scene.runtime.until(b.locks.job('x', () => {}))).toBe('ran')
})

test('the error of the work is the caller’s, and the time counts all the same', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const run = () => locks.job('x', { atLeast: '10s' }, () => Promise.reject(new Error('broken')))
  expect((await scene.runtime.until(failure(run()))).message).toBe('broken')
  expect(await scene.runtime.until(run())).toBe('skipped')
})

test('bad input is named', async () => {
  await using locks = createLocks()
  expect((await failure(locks.job('x', { atLeast: '1m', atMost: '1s' }, () => {}))).message).toMatch(
    /^atMost must/,
  )
  expect((await failure(locks.job('x', undefined as never))).message).toMatch(/^work must be a function/)
})

test('a stall at the end of the work is no loss: the lease is proven, as in using', async () => {
  const scene = new Scene()
  const { locks } = scene.party({ ttl: '3s' })
  const ran = locks.job('x', () => scene.runtime.stall(2500))
  expect(await scene.runtime.until(ran)).toBe('ran')
})

test('a job whose lease was lost tells so, with what it returned', async () => {
  const scene = new Scene()
  const { locks } = scene.party({ ttl: '3s' })
  const error = await failure(locks.job('x', { atMost: 1000 }, () => scene.runtime.advance(5000)))
  expect(error).toMatchObject({ code: 'LEASE_LOST', result: 'ran' })
})
