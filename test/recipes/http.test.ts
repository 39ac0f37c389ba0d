import { createLocks } from 'holdfast'
import { idempotentHandler } from 'holdfast/http'
import { memory } from 'holdfast/memory'
import { describe, expect, test } from 'vitest'
import type { Records } from '../../src/core/store.ts'
import { FRAMEWORKS, listen, openShop } from './support/shop.ts'

describe.each(Object.entries(FRAMEWORKS))('Idempotency-Key with %s', (_, start) => {
  const shop = () => openShop(start, createLocks())

  test('status, headers and body are replayed', async () => {
    const { till, post } = await shop()
    const first = await post('"k 1"', { amount: 5 })
    const again = await post('"k 1"', { amount: 5 })
    for (const response of [first, again]) {
      expect([response.status, response.headers.get('x-till')]).toEqual([201, 'one'])
      expect(response.headers.get('content-type')).toMatch(/^application\/json/)
      expect(await response.json()).toEqual({ run: 1, amount: 5 })
    }
    expect([first.headers.get('idempotency-replayed'), again.headers.get('idempotency-replayed')]).toEqual([
      null,
      'true',
    ])
    expect(
      (await post('k 1', { amount: 5 })).headers.get('idempotency-replayed'),
      'quotes are no part of a key',
    ).toBe('true')
    expect(till.runs).toBe(1)
    expect(await (await post('"k 2"', { amount: 5 })).json()).toEqual({ run: 2, amount: 5 })
  })

  test('409 while the first is in progress', async () => {
    const { till, post } = await shop()
    const open = till.close()
    const first = post('k', { amount: 1 })
    await expect.poll(() => till.runs).toBe(1)
    const second = await post('k', { amount: 1 })
    expect(second.status).toBe(409)
    expect(second.headers.get('content-type')).toMatch(/^application\/problem\+json/)
    expect(await second.json()).toMatchObject({ status: 409 })
    open()
    expect((await first).status).toBe(201)
    expect(till.runs).toBe(1)
  })

  test('422 for another body under the same key', async () => {
    const { till, post } = await shop()
    await post('k', { amount: 1 })
    const other = await post('k', { amount: 2 })
    expect(other.status).toBe(422)
    expect(await other.json()).toMatchObject({ title: 'Idempotency-Key is already used' })
    expect(till.runs).toBe(1)
  })

  test('400 without a key, and for one that is none', async () => {
    const { till, post } = await shop()
    expect((await post(null, {})).status).toBe(400)
    expect((await post('x'.repeat(300), {})).status).toBe(400)
    expect(till.runs).toBe(0)
  })

  test('a failure of the server is not kept, a refusal is', async () => {
    const { till, post } = await shop()
    expect((await post('fails', { status: 503 })).status).toBe(503)
    expect((await post('fails', { status: 503 })).status).toBe(503)
    expect(till.runs).toBe(2)
    expect((await post('refused', { status: 402 })).status).toBe(402)
    expect((await post('refused', { status: 402 })).status).toBe(402)
    expect(till.runs).toBe(3)
  })

  test('every cookie is sent, and sent again', async () => {
    const { post } = await shop()
    const order = { cookies: ['a=1; Path=/', 'b=2; Expires=Thu, 01 Jan 2099 00:00:00 GMT'] }
    for (const replayed of [null, 'true']) {
      const response = await post('k', order)
      expect(response.headers.get('idempotency-replayed')).toBe(replayed)
      expect(response.headers.getSetCookie()).toEqual(order.cookies)
    }
  })

  test.each([200, 204, 205, 304])('a response without a body is replayed: %i', async (status) => {
    const { till, post } = await shop()
    for (const replayed of [null, 'true']) {
      const response = await post('k', { status, empty: true })
      expect([response.status, response.headers.get('idempotency-replayed')]).toEqual([status, replayed])
      expect(await response.text()).toBe('')
    }
    expect(till.runs).toBe(1)
  })

  test('a response that is too large is sent, and its request is not run again', async () => {
    const { till, post } = await openShop(start, createLocks(), { maxResponseBytes: 20 })
    const first = await post('k', { amount: 5 })
    expect([first.status, await first.json()]).toEqual([201, { run: 1, amount: 5 }])
    const again = await post('k', { amount: 5 })
    expect(again.status).toBe(422)
    expect(await again.json()).toMatchObject({
      title: 'The response for this Idempotency-Key was not kept',
      detail: expect.stringMatching(/status 201 has \d+ bytes, more than the 20 that are kept/),
    })
    expect(await (await post('k', { amount: 6 })).json()).toMatchObject({
      title: 'Idempotency-Key is already used',
    })
    expect(till.runs).toBe(1)
  })

  test('a lease lost while the handler works loses no response', async () => {
    const { locks, till, post } = await shop()
    const open = till.close()
    const first = post('k', { amount: 1 })
    await expect.poll(() => till.runs).toBe(1)
    for await (const { key } of locks.list({ prefix: 'once:' })) await locks.evict(key)
    open()
    expect((await first).status).toBe(201)
    const again = await post('k', { amount: 1 })
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true'])
    expect(till.runs).toBe(1)
  })
})

test('a handler of node:http that throws is answered with 500, and its key may be tried again', async () => {
  await using locks = createLocks()
  let runs = 0
  const handler = idempotentHandler(locks, (_, response) => {
    if (++runs === 1) throw new Error('broken')
    response.end('worked')
  })
  const url = await listen(handler)
  const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
  const post = () => fetch(url, { method: 'POST', headers: { 'Idempotency-Key': 'k' } })
  expect((await post()).status).toBe(500)
  expect((await warned).message).toBe('a handler failed: Error: broken')
  expect(await (await post()).text()).toBe('worked')
})

test('a response that the store refuses is sent, and its request is not run again', async () => {
  const store = memory()
  const { write } = store.records as Records
  const refusing = (...args: Parameters<Records['write']>) => {
    if (args[1].length > 1000) throw new Error('too large for this store')
    return write(...args)
  }
  await using locks = createLocks({
    store: { ...store, records: { ...store.records, write: refusing } as Records },
  })
  let runs = 0
  const url = await listen(
    idempotentHandler(locks, (_, response) => void response.end(`${++runs}`.repeat(2000))),
  )
  const post = () => fetch(url, { method: 'POST', headers: { 'Idempotency-Key': 'k' } })
  expect(await (await post()).text()).toHaveLength(2000)
  const again = await post()
  expect(await again.json()).toMatchObject({
    status: 422,
    detail: 'The first request was run, and is not run again, but the store refused its response.',
  })
  expect(runs).toBe(1)
})
