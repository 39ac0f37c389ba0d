import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import fastify from 'fastify'
import { connect, createLocks, type Locks } from 'holdfast'
import { idempotencyKey, idempotencyKeyFastify, idempotentHandler } from 'holdfast/http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startRedis } from '../../scripts/servers/redis.ts'
import { FRAMEWORKS, listen, openShop, type Shop, type Start } from './support/shop.ts'

const STORES: Record<string, () => Promise<Locks>> = {
  memory: async () => createLocks(),
  redis: async () => {
    const server = await startRedis()
    onTestFinished(() => server.stop())
    return connect(server.url)
  },
}

const CASES = Object.entries(FRAMEWORKS).flatMap(([framework, start]) =>
  Object.entries(STORES).map(([store, open]) => [framework, store, start, open] as const),
)

/** A client that gives up while the handler works. */
async function leave({ till, post }: Shop, order: object): Promise<void> {
  const client = new AbortController()
  const left = post('k', order, client.signal)
  await expect.poll(() => till.runs).toBe(1)
  client.abort()
  await expect(left).rejects.toThrow(/abort/)
  // Until the server has noticed, too.
  await sleep(100)
}

describe.each(CASES)('a client of %s over %s that leaves', (_, _store, start, open) => {
  test.each([{ amount: 5 }, { status: 202, empty: true }])(
    'and retries has the effect once: %o',
    async (order) => {
      const shop = await openShop(start, await open())
      const { till, post } = shop
      const release = till.close()
      await leave(shop, order)
      expect((await post('k', order)).status, 'while the first handler works').toBe(409)
      release()
      const status = order.status ?? 201
      await expect.poll(async () => (await post('k', order)).status).toBe(status)
      const again = await post('k', order)
      expect(again.headers.get('idempotency-replayed')).toBe('true')
      expect(again.headers.get('x-till')).toBe('one')
      expect(await again.text()).toBe(order.empty === true ? '' : '{"run":1,"amount":5}')
      expect(till.runs).toBe(1)
    },
  )

  test('and retries after a failure of the server may try again', async () => {
    const shop = await openShop(start, await open())
    const { till, post } = shop
    const release = till.close()
    await leave(shop, { status: 503 })
    release()
    await expect.poll(async () => (await post('k', { status: 503 })).status).toBe(503)
    expect(till.runs).toBe(2)
  })
})

/** Handlers that have their effect and never answer once their client has gone. */
const SILENT: Record<string, (locks: Locks, effect: () => void) => Promise<string>> = {
  express: (locks, effect) => {
    const app = express()
    app.use(idempotencyKey(locks, { abandonAfter: '1s' }))
    app.post('/', (request) => {
      effect()
      request.on('close', () => {})
    })
    return listen(app)
  },
  'node:http': (locks, effect) => listen(idempotentHandler(locks, effect, { abandonAfter: '1s' })),
  fastify: async (locks, effect) => {
    const app = fastify()
    idempotencyKeyFastify(app as never, locks, { abandonAfter: '1s' })
    app.post('/', () => effect())
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    onTestFinished(() => app.close())
    return url
  },
}

describe.each(Object.entries(SILENT))('a handler of %s that never ends', (_, start) => {
  test('keeps its key in progress, then counts as done without a response', async () => {
    await using locks = createLocks()
    let runs = 0
    const url = await start(locks, () => void runs++)
    const options = { method: 'POST', headers: { 'Idempotency-Key': 'k' } }
    await expect(fetch(url, { ...options, signal: AbortSignal.timeout(100) })).rejects.toThrow(/timeout/)
    expect((await fetch(url, options)).status).toBe(409)
    await expect.poll(async () => (await fetch(url, options)).status, { timeout: 5000 }).toBe(422)
    expect(await (await fetch(url, options)).json()).toMatchObject({
      title: 'The response for this Idempotency-Key was not kept',
      detail: expect.stringMatching(/not run again, but its client was gone, .* 1000 ms later/),
    })
    expect(runs).toBe(1)
  })
})

test('an asynchronous handler of node:http keeps its key for as long as it works, whatever `abandonAfter` says', async () => {
  const start: Start = FRAMEWORKS['node:http'] as Start
  const shop = await openShop(start, createLocks(), { abandonAfter: '50ms' })
  const release = shop.till.close()
  await leave(shop, { amount: 1 })
  await sleep(200)
  expect((await shop.post('k', { amount: 1 })).status).toBe(409)
  release()
  await expect.poll(async () => (await shop.post('k', { amount: 1 })).status).toBe(201)
  expect(shop.till.runs).toBe(1)
})

test('a handler of Fastify that writes to the connection itself is not run again', async () => {
  await using locks = createLocks()
  const app = fastify()
  idempotencyKeyFastify(app as never, locks)
  let runs = 0
  app.post('/', (_, reply) => {
    reply.hijack()
    reply.raw.end(`run ${++runs}`)
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => app.close())
  const post = () => fetch(url, { method: 'POST', headers: { 'Idempotency-Key': 'k' } })
  expect(await (await post()).text()).toBe('run 1')
  await expect.poll(async () => (await post()).status).toBe(422)
  expect(runs).toBe(1)
})
