import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import type { Locks } from 'holdfast'
import { idempotencyKey, idempotencyKeyFastify, idempotencyKeyHono, idempotentHandler } from 'holdfast/http'
import { Hono } from 'hono'
import { onTestFinished } from 'vitest'

/** How a request wants to be answered. */
export interface Order {
  readonly status?: number
  readonly amount?: number
  readonly cookies?: readonly string[]
  /** The response has no body. */
  readonly empty?: boolean
}

/** The effect behind the handlers of all four frameworks, which is counted. */
export class Till {
  runs = 0
  /** Handlers wait here. */
  gate: Promise<void> = Promise.resolve()

  async pay({ status = 201, amount }: Order): Promise<{ status: number; receipt: object }> {
    const run = ++this.runs
    await this.gate
    return { status, receipt: { run, amount } }
  }

  /** Closes the gate, and returns how to open it. */
  close(): () => void {
    let open: () => void = () => {}
    this.gate = new Promise((resolve) => (open = resolve))
    return open
  }
}

export type ShopOptions = { abandonAfter?: string; maxResponseBytes?: number }
export type Start = (locks: Locks, till: Till, options?: ShopOptions) => Promise<string>

const COMMON = { required: true, scope: () => 'everyone' }

export const FRAMEWORKS: Record<string, Start> = {
  'node:http': (locks, till, options) =>
    listen(
      idempotentHandler(
        locks,
        async (_, response, body) => {
          const order = JSON.parse(body.toString()) as Order
          const { status, receipt } = await till.pay(order)
          const cookies = (order.cookies ?? []).flatMap((cookie) => ['set-cookie', cookie])
          response.writeHead(status, ['content-type', 'application/json', 'x-till', 'one', ...cookies])
          if (order.empty !== true) response.write(JSON.stringify(receipt).slice(0, 3))
          response.end(order.empty === true ? undefined : JSON.stringify(receipt).slice(3))
        },
        { ...COMMON, ...options },
      ),
    ),
  express: (locks, till, options) => {
    const app = express()
    app.use(express.json())
    app.use(idempotencyKey(locks, { ...COMMON, ...options }))
    app.post('/pay', async (request, response) => {
      const { cookies = [], empty } = request.body as Order
      const { status, receipt } = await till.pay(request.body)
      response.status(status).set('X-Till', 'one')
      for (const cookie of cookies) response.append('Set-Cookie', cookie)
      if (empty === true) response.end()
      else response.json(receipt)
    })
    return listen(app)
  },
  fastify: async (locks, till, options) => {
    const app = fastify()
    idempotencyKeyFastify(app as never, locks, { ...COMMON, ...options })
    app.post('/pay', async (request, reply) => {
      const { cookies = [], empty } = request.body as Order
      const { status, receipt } = await till.pay(request.body as Order)
      reply.code(status).header('X-Till', 'one')
      for (const cookie of cookies) reply.header('Set-Cookie', cookie)
      return empty === true ? undefined : receipt
    })
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    onTestFinished(() => app.close())
    return url
  },
  hono: async (locks, till, { maxResponseBytes } = {}) => {
    const app = new Hono()
    const options = { ...COMMON, ...(maxResponseBytes === undefined ? {} : { maxResponseBytes }) }
    app.use(idempotencyKeyHono(locks, options) as never)
    app.post('/pay', async (context) => {
      const { cookies = [], empty } = (await context.req.json()) as Order
      const { status, receipt } = await till.pay(await context.req.json())
      context.header('X-Till', 'one')
      for (const cookie of cookies) context.header('Set-Cookie', cookie, { append: true })
      return empty === true ? context.body(null, status as 204) : context.json(receipt, status as 201)
    })
    return new Promise((resolve) => {
      const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
        resolve(`http://127.0.0.1:${port}`),
      )
      onTestFinished(() => void server.close())
    })
  },
}

export interface Shop {
  readonly locks: Locks
  readonly till: Till
  post(key: string | null, order: Order, signal?: AbortSignal): Promise<Response>
}

/** A shop over these locks, which are closed with it. */
export async function openShop(start: Start, locks: Locks, options?: ShopOptions): Promise<Shop> {
  const till = new Till()
  onTestFinished(() => locks.close())
  const url = await start(locks, till, options)
  const post: Shop['post'] = (key, order, signal) =>
    fetch(`${url}/pay`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key === null ? {} : { 'Idempotency-Key': key }) },
      body: JSON.stringify(order),
      ...(signal === undefined ? {} : { signal }),
    })
  return { locks, till, post }
}

export async function listen(handler: RequestListener): Promise<string> {
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
