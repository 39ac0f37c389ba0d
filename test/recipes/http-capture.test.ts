import { once } from 'node:events'
import { Readable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import fastify from 'fastify'
import { ConflictError, createLocks, LeaseLostError } from 'holdfast'
import { idempotencyKeyFastify, idempotentHandler } from 'holdfast/http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { post, WATCHED } from './support/handlers.ts'
import { listen } from './support/shop.ts'

describe.each(Object.entries(WATCHED))('the response that a handler of %s gets', (_, serve) => {
  /** The first response and its replay, which must be the same. */
  async function both(url: string): Promise<Response[]> {
    const [first, again] = [await post(url), await post(url)]
    expect([first.headers.get('idempotency-replayed'), again.headers.get('idempotency-replayed')]).toEqual([
      null,
      'true',
    ])
    expect(again.status).toBe(first.status)
    return [first, again]
  }

  test('takes a pipeline, larger than any buffer', async () => {
    const chunks = Array.from({ length: 40 }, (_, index) => Buffer.alloc(16_384, 97 + (index % 26)))
    let ended = false
    const url = await serve(async (_, response) => {
      await pipeline(Readable.from(chunks), response)
      ended = true
    })
    for (const response of await both(url))
      expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.concat(chunks))).toBe(true)
    expect(ended).toBe(true)
  })

  test('takes a pipeline after its client has gone', async () => {
    let runs = 0
    const url = await serve(async (_, response) => {
      runs++
      await sleep(200)
      await pipeline(Readable.from(['a', 'b', 'c']), response)
    })
    await expect(post(url, AbortSignal.timeout(50))).rejects.toThrow(/timeout/)
    await expect.poll(async () => (await post(url)).status).toBe(200)
    expect(await (await post(url)).text()).toBe('abc')
    expect(runs).toBe(1)
  })

  test('ends, finishes and closes, and calls back', async () => {
    const seen: string[] = []
    const url = await serve(async (_, response) => {
      const state = () => [response.headersSent, response.writableEnded, response.writableFinished]
      for (const event of ['finish', 'close']) response.on(event, () => seen.push(event))
      seen.push(`before ${state()}`)
      await new Promise<void>((resolve) => response.write('a', () => resolve()))
      seen.push(`written ${state()}`)
      expect(() => response.setHeader('x-late', '1')).toThrow(/headers/i)
      const closed = once(response, 'close')
      response.end('b', () => seen.push('called back'))
      seen.push(`ended ${state()} ${response.finished}`)
      await closed
      await finished(response)
      seen.push(`closed ${state()}`)
    })
    for (const response of await both(url)) expect(await response.text()).toBe('ab')
    expect(seen).toEqual([
      'before false,false,false',
      'written true,false,false',
      'ended true,true,false true',
      'finish',
      'called back',
      'close',
      'closed true,true,true',
    ])
  })

  test('takes headers as a list in which a name comes twice, and a message', async () => {
    const url = await serve((_, response) => {
      response.setHeader('x-kind', 'overwritten')
      response.writeHead(202, 'Taken', ['x-kind', 'list', 'set-cookie', 'a=1', 'set-cookie', 'b=2'])
      expect(() => response.writeHead(200)).toThrow(/headers/i)
      response.end('text', 'latin1')
    })
    for (const response of await both(url)) {
      expect([response.status, response.headers.get('x-kind')]).toEqual([202, 'list'])
      expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
      expect(await response.text()).toBe('text')
    }
  })

  test('calls the listeners for the headers', async () => {
    const url = await serve((_, response) => {
      const { writeHead } = response
      response.writeHead = ((...args: Parameters<typeof writeHead>) => {
        response.setHeader('x-session', 'new')
        return writeHead.apply(response, args)
      }) as typeof writeHead
      response.end('text')
    })
    for (const response of await both(url)) expect(response.headers.get('x-session')).toBe('new')
  })

  test('refuses what Node refuses', async () => {
    const errors: unknown[] = []
    const url = await serve(async (_, response) => {
      const attempt = (run: () => unknown) => {
        try {
          run()
        } catch (error) {
          errors.push((error as Error).name)
        }
      }
      attempt(() => response.writeHead(99))
      attempt(() => response.write(5 as never))
      response.end('text')
      response.write('more', (error) => errors.push(error?.message))
      response.end('more', () => errors.push('called back'))
      await sleep(10)
    })
    for (const response of await both(url)) expect(await response.text()).toBe('text')
    expect(errors).toEqual(['RangeError', 'TypeError', 'write after end', 'called back'])
  })
})

test('earlier listeners are called once, when the response is really sent', async () => {
  const finishes: boolean[] = []
  await using locks = createLocks()
  let isKept = false
  const guarded = idempotentHandler(locks, async (_, response) => void response.end('text'))
  const url = await listen((request, response) => {
    response.on('finish', () => finishes.push(response.headersSent && isKept))
    locks.on('released', () => (isKept = true))
    guarded(request, response)
  })
  expect(await (await post(url)).text()).toBe('text')
  expect(finishes).toEqual([true])
})

describe('a handler of node:http that throws', () => {
  const warning = () => new Promise<Error>((resolve) => process.once('warning', resolve))

  test.each([
    new ConflictError('"stock" is in use'),
    Object.assign(new LeaseLostError('stock', 'it expired'), { result: 'half' }),
  ])('an error of our own is answered as any other: $name', async (error) => {
    await using locks = createLocks()
    let runs = 0
    const url = await listen(
      idempotentHandler(locks, (_, response) => {
        if (++runs === 1) throw error
        response.end('worked')
      }),
    )
    const warned = warning()
    expect((await post(url)).status).toBe(500)
    expect((await warned).message).toBe(`a handler failed: ${String(error)}`)
    expect(await (await post(url)).text(), 'its key may be tried again').toBe('worked')
  })

  test('after it ended its response is not run again', async () => {
    await using locks = createLocks()
    let runs = 0
    const url = await listen(
      idempotentHandler(locks, async (_, response) => {
        response.writeHead(201).end(`run ${++runs}`)
        throw new Error('broken clean-up')
      }),
    )
    const warned = warning()
    for (let call = 0; call < 2; call++) {
      const response = await post(url)
      expect([response.status, await response.text()]).toEqual([201, 'run 1'])
    }
    expect((await warned).message).toBe('a handler failed: Error: broken clean-up')
  })

  test('an answer of failure does not free the key of a handler that still works', async () => {
    await using locks = createLocks()
    let runs = 0
    let end: () => void = () => {}
    const url = await listen(
      idempotentHandler(locks, async (_, response) => {
        runs++
        response.writeHead(503).end()
        await new Promise<void>((resolve) => (end = resolve))
      }),
    )
    const first = post(url)
    await expect.poll(() => runs).toBe(1)
    expect((await post(url)).status).toBe(409)
    end()
    expect((await first).status).toBe(503)
  })
})

test('Fastify: streams and fetch responses are replayed with their status, headers and body', async () => {
  await using locks = createLocks()
  const app = fastify()
  idempotencyKeyFastify(app as never, locks)
  app.post('/stream', (_, reply) => reply.code(202).send(Readable.from([Buffer.from('a'), Buffer.from('b')])))
  app.post('/fetched', async () => {
    const response = new Response('text', { status: 203, headers: { 'x-kind': 'fetched' } })
    response.headers.append('set-cookie', 'a=1')
    response.headers.append('set-cookie', 'b=2')
    return response
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => app.close())
  const call = (path: string) => fetch(url + path, { method: 'POST', headers: { 'Idempotency-Key': path } })
  for (let time = 0; time < 2; time++) {
    const stream = await call('/stream')
    expect([stream.status, stream.headers.get('content-type'), await stream.text()]).toEqual([
      202,
      null,
      'ab',
    ])
    const fetched = await call('/fetched')
    expect([fetched.status, fetched.headers.get('x-kind'), await fetched.text()]).toEqual([
      203,
      'fetched',
      'text',
    ])
    expect(fetched.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  }
})
