import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { createLocks, type Locks } from 'holdfast'
import { idempotencyKey, idempotencyKeyFastify, idempotencyKeyHono, idempotentHandler } from 'holdfast/http'
import { Hono } from 'hono'
import { describe, expect, onTestFinished, test } from 'vitest'

/** What the handlers of all four frameworks do: count, and answer as the body asks. */
class Till {
  runs = 0
  gate: Promise<void> = Promise.resolve()

  async pay(body: { status?: number; amount?: number }): Promise<{ status: number; receipt: object }> {
    const run = ++this.runs
    await this.gate
    return { status: body.status ?? 201, receipt: { run, amount: body.amount } }
  }
}

type Start = (locks: Locks, till: Till) => Promise<string>

const options = { required: true, scope: () => 'everyone' }

const FRAMEWORKS: Record<string, Start> = {
  'node:http': (locks, till) =>
    listen(
      idempotentHandler(
        locks,
        async (_, response, body) => {
          const { status, receipt } = await till.pay(JSON.parse(body.toString()))
          response.writeHead(status, { 'content-type': 'application/json', 'x-till': 'one' })
          response.write(JSON.stringify(receipt).slice(0, 3))
          response.end(JSON.stringify(receipt).slice(3))
        },
        options,
      ),
    ),
  express: (locks, till) => {
    const app = express()
    app.use(express.json())
    app.use(idempotencyKey(locks, options))
    app.post('/pay', async (request, response) => {
      const { status, receipt } = await till.pay(request.body)
      response.status(status).set('X-Till', 'one').json(receipt)
    })
    return listen(app)
  },
  fastify: async (locks, till) => {
    const app = fastify()
    idempotencyKeyFastify(app as never, locks, options)
    app.post('/pay', async (request, reply) => {
      const { status, receipt } = await till.pay(request.body as object)
      return reply.code(status).header('X-Till', 'one').send(receipt)
    })
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    onTestFinished(() => app.close())
    return url
  },
  hono: async (locks, till) => {
    const app = new Hono()
    app.use(idempotencyKeyHono(locks, options) as never)
    app.post('/pay', async (context) => {
      const { status, receipt } = await till.pay(await context.req.json())
      return context.json(receipt, status as 201, { 'X-Till': 'one' })
    })
    return new Promise((resolve) => {
      const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
        resolve(`http://127.0.0.1:${port}`),
      )
      onTestFinished(() => void server.close())
    })
  },
}

describe.each(Object.entries(FRAMEWORKS))('Idempotency-Key with %s', (_, start) => {
  async function shop() {
    const locks = createLocks()
    const till = new Till()
    const url = await start(locks, till)
    onTestFinished(() => locks.close())
    const post = (key: string | null, body: object) =>
      fetch(`${url}/pay`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(key === null ? {} : { 'Idempotency-Key': key }) },
        body: JSON.stringify(body),
      })
    return { till, post }
  }

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
    let open: () => void = () => {}
    till.gate = new Promise((resolve) => (open = resolve))
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

async function listen(handler: RequestListener): Promise<string> {
  const server = createServer(handler)
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
