import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import express from 'express'
import fastify from 'fastify'
import {
  type FastifyReplyLike,
  idempotencyKey,
  idempotencyKeyFastify,
  idempotentHandler,
} from 'holdfast/http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { open, post, WATCHED } from './support/handlers.ts'
import { listen } from './support/shop.ts'

const NOT_KEPT = {
  detail: 'The first request was run, and is not run again, but its handler destroyed the response.',
}

describe.each(Object.entries(WATCHED))('a handler of %s that destroys its response', (_, serve) => {
  test.each([false, true])('ends a pipeline whose source fails; client gone: %s', async (leaves) => {
    const failed: unknown[] = []
    const closed: ServerResponse[] = []
    const url = await serve(async (request, response) => {
      response.on('close', () => closed.push(response))
      const source = new PassThrough()
      const piped = pipeline(source, response).catch((error) => failed.push(error.message))
      source.write('a')
      if (leaves) await once(request.socket, 'close')
      source.destroy(new Error('broken source'))
      await piped
    })
    await expect(post(url, leaves ? AbortSignal.timeout(100) : undefined)).rejects.toThrow(/fetch|timeout/)
    await expect.poll(() => failed).toEqual(['broken source'])
    await expect.poll(async () => (await post(url)).status).toBe(422)
    expect(closed.map(({ destroyed }) => destroyed)).toEqual([true])
    expect(await (await post(url)).json()).toMatchObject(NOT_KEPT)
  })

  test('finds it destroyed from then on', async () => {
    const seen: boolean[] = []
    const url = await serve(async (_, response) => {
      response.destroy()
      for (let tick = 0; tick < 10; tick++) seen.push(await response.destroyed)
    })
    await expect(post(url)).rejects.toThrow(/fetch/)
    await expect.poll(() => seen).toEqual(Array(10).fill(true))
  })

  test('has ended it before', async () => {
    const url = await serve((_, response) => void response.end('text').destroy())
    for (let call = 0; call < 2; call++) expect(await (await post(url)).text()).toBe('text')
  })
})

test('a handler of node:http that throws because the source of its pipeline fails may be tried again', async () => {
  let runs = 0
  const url = await listen(
    idempotentHandler(open(), async (_, response) => {
      const chunks = async function* () {
        yield `run ${++runs}`
        if (runs === 1) throw new Error('broken source')
      }
      await pipeline(Readable.from(chunks()), response)
    }),
  )
  const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
  await expect(post(url)).rejects.toThrow(/fetch/)
  expect((await warned).message).toBe('a handler failed: Error: broken source')
  for (let call = 0; call < 2; call++) expect(await (await post(url)).text()).toBe('run 2')
})

const broken = (response: ServerResponse) =>
  pipeline(async function* () {
    yield 'a'
    throw new Error('broken source')
  }, response)

describe('a handler of Fastify that destroys its response', () => {
  const serve = async (handler: (reply: FastifyReplyLike) => unknown) => {
    const app = fastify()
    idempotencyKeyFastify(app as never, open())
    app.post('/', (_, reply) => handler(reply as never))
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    onTestFinished(() => app.close())
    return url
  }

  test.each<[string, (reply: FastifyReplyLike) => unknown]>([
    ['destroy', ({ raw }) => void raw.destroy()],
    ['an asynchronous destroy', async ({ raw }) => void raw.destroy()],
    ['a pipeline that nobody awaits', ({ raw }) => void broken(raw).catch(() => {})],
    ['a pipeline whose error is caught', ({ raw }) => broken(raw).catch(() => {})],
  ])('counts as done without a response: %s', async (_, handler) => {
    const url = await serve(handler)
    await expect(post(url)).rejects.toThrow(/fetch/)
    await expect.poll(async () => (await post(url)).status).toBe(422)
    expect(await (await post(url)).json()).toMatchObject(NOT_KEPT)
  })

  test('and throws may be tried again', async () => {
    let runs = 0
    const url = await serve(async (reply) => {
      ;(reply as FastifyReplyLike & { hijack(): void }).hijack()
      if (++runs === 1) await broken(reply.raw)
      reply.raw.end('worked')
    })
    await expect(post(url)).rejects.toThrow(/fetch/)
    await expect.poll(async () => (await post(url)).text()).toBe('worked')
    expect(runs).toBe(2)
  })
})

test('a handler of Express that was given up hears that its response is closed', async () => {
  const app = express()
  app.use(idempotencyKey(open(), { abandonAfter: '50ms' }))
  let isClosed = false
  app.post('/', (_, response) => void response.on('close', () => (isClosed = true)))
  const url = await listen(app)
  await expect(post(url, AbortSignal.timeout(50))).rejects.toThrow(/timeout/)
  await expect.poll(() => isClosed).toBe(true)
})
