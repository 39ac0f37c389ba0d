import { createLocks } from 'holdfast'
import { type HonoContext, idempotencyKeyHono } from 'holdfast/http'
import { Hono } from 'hono'
import { expect, test } from 'vitest'

// The server of `@hono/node-server` has a Response of its own that is less strict; this is the runtime's.
function shop(respond: () => Response) {
  const locks = createLocks()
  const app = new Hono()
  let runs = 0
  app.use(idempotencyKeyHono(locks) as never)
  app.post('/pay', () => {
    runs++
    return respond()
  })
  const post = () => app.request('/pay', { method: 'POST', headers: { 'Idempotency-Key': 'k' } })
  return { post, runs: () => runs, [Symbol.asyncDispose]: () => locks.close() }
}

test.each([204, 205, 304])('a response that must not have a body has none: %i', async (status) => {
  await using open = shop(() => new Response(null, { status, headers: { 'x-till': 'one' } }))
  for (const replayed of [null, 'true']) {
    const response = await open.post()
    expect([response.status, response.headers.get('x-till')]).toEqual([status, 'one'])
    expect([response.body, response.headers.get('idempotency-replayed')]).toEqual([null, replayed])
  }
  expect(open.runs()).toBe(1)
})

test('every cookie is sent, and sent again', async () => {
  const cookies = ['a=1; Path=/', 'b=2; Expires=Thu, 01 Jan 2099 00:00:00 GMT']
  await using open = shop(
    () => new Response('paid', { status: 201, headers: cookies.map((cookie) => ['set-cookie', cookie]) }),
  )
  for (let call = 0; call < 2; call++) {
    const response = await open.post()
    expect(response.headers.getSetCookie()).toEqual(cookies)
    expect([response.status, await response.text()]).toEqual([201, 'paid'])
  }
  expect(open.runs()).toBe(1)
})

test.each([101, 103])('a response that only the runtime can make goes out as it is: %i', async (status) => {
  await using locks = createLocks()
  const middleware = idempotencyKeyHono(locks)
  // No script can make one.
  const made = Object.defineProperty(new Response(null), 'status', { value: status })
  let runs = 0
  const call = async () => {
    const raw = new Request('http://shop/pay', { method: 'POST', headers: { 'Idempotency-Key': 'k' } })
    const req = { raw, method: 'POST', header: (name: string) => raw.headers.get(name) ?? undefined }
    const context: HonoContext = { req, res: new Response('nothing yet') }
    const answer = await middleware(context, async () => {
      runs++
      context.res = made
    })
    return { answer, context }
  }
  const { answer, context } = await call()
  expect([answer, context.res]).toEqual([undefined, made])
  expect((await call()).answer?.status).toBe(422)
  expect(runs).toBe(1)
})
