import { createLocks } from 'holdfast'
import { expect, test } from 'vitest'
import { failure, Scene } from '../core/support.ts'

test('changes that meet are all counted', async () => {
  const scene = new Scene()
  const parties = [scene.party(), scene.party(), scene.party()]
  const bumps = Array.from({ length: 30 }, (_, index) =>
    parties[index % 3]?.locks.update<number>(
      'count',
      async (value = 0) => {
        await new Promise<void>((resolve) => scene.runtime.setTimer(resolve, 1, false))
        return value + 1
      },
      { tries: 1000 },
    ),
  )
  await scene.runtime.until(Promise.all(bumps))
  expect(
    await scene.runtime.until((parties[0] as (typeof parties)[0]).locks.update('count', () => undefined)),
  ).toBe(30)
})

test('a change that returns undefined leaves the value as it is', async () => {
  await using locks = createLocks()
  expect(await locks.update('x', () => undefined)).toBeUndefined()
  await locks.update('x', () => ({ a: 1 }))
  expect(await locks.update<{ a: number }>('x', (value) => (value?.a === 1 ? undefined : { a: 2 }))).toEqual({
    a: 1,
  })
})

test('tries are bounded, and the error says how many there were', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  let calls = 0
  const lost = failure(
    a.locks.update<number>(
      'x',
      async (value = 0) => {
        calls++
        await b.locks.update<number>('x', (other = 0) => other + 100)
        return value + 1
      },
      { tries: 4 },
    ),
  )
  const error = await scene.runtime.until(lost)
  expect(error).toMatchObject({ code: 'CONFLICT', tries: 4 })
  expect(calls).toBe(4)
  expect(await scene.runtime.until(b.locks.update('x', () => undefined))).toBe(400)
})

test('a signal ends the tries, and a value ends with its ttl', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const gone = new AbortController()
  gone.abort(new Error('enough'))
  expect((await failure(locks.update('x', () => 1, { signal: gone.signal }))).message).toBe('enough')
  await scene.runtime.until(locks.update('x', () => 1, { ttl: '10s' }))
  await scene.runtime.advance(10_001)
  expect(await locks.update('x', () => undefined)).toBeUndefined()
})

test('an error of the change is the caller’s', async () => {
  await using locks = createLocks()
  await expect(locks.update('x', () => Promise.reject(new Error('mine')))).rejects.toThrow('mine')
  expect((await failure(locks.update('x', () => 1, { tries: 0 }))).message).toMatch(
    /tries must be a whole number from 1/,
  )
  expect((await failure(locks.update('x', 5 as never))).message).toMatch(/change must be a function/)
})
