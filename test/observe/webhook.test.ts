import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLocks, type Runtime } from 'holdfast'
import { type Alarm, observe, type WebhookOptions } from 'holdfast/observe'
import { expect, onTestFinished, test } from 'vitest'
import { nodeRuntime } from '../../src/core/runtime.ts'

type Answer = (response: ServerResponse, request: IncomingMessage) => void

/** A receiver that answers as it is told, and remembers what it got. */
async function receiver(...answers: Answer[]) {
  const got: { alarm: Alarm; headers: IncomingMessage['headers'] }[] = []
  let heard = (): void => {}
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    got.push({ alarm: JSON.parse(Buffer.concat(parts).toString()), headers: request.headers })
    const answer = answers[Math.min(got.length, answers.length) - 1] as Answer
    answer(response, request)
    heard()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const requests = async (count: number): Promise<void> => {
    while (got.length < count)
      await new Promise<void>((resolve) => {
        heard = resolve
      })
  }
  return { url: `http://127.0.0.1:${port}/services/T0/SECRET`, got, requests }
}

const status =
  (code: number, headers = {}): Answer =>
  (response) =>
    void response.writeHead(code, headers).end('no')
const silence: Answer = () => {}
const cut: Answer = (_, request) => {
  request.socket.destroy()
}

/** Pauses are shorter, real sockets are not. */
const HASTE = 20
const runtime: Runtime = {
  ...nodeRuntime,
  setTimer: (task, delayMs, background) => nodeRuntime.setTimer(task, delayMs / HASTE, background),
}

/** An observer whose alarm has been raised, and the lines that it writes. */
function alarmed(webhook: WebhookOptions) {
  const locks = createLocks()
  const lines: string[] = []
  let told = (): void => {}
  const complaint = new Promise<void>((resolve) => {
    told = resolve
  })
  const logger = {
    info: () => {},
    warn: () => {},
    error(_fields: object, message: string) {
      lines.push(message)
      told()
    },
  }
  const observer = observe(locks, { runtime, logger, webhook, every: '100ms' })
  observer.collector.keysWithoutTtl = 2
  onTestFinished(async () => {
    observer.close()
    await locks.close()
  })
  return { observer, lines, complaint }
}

test('an alarm arrives although the receiver fails first', async () => {
  const { url, got, requests } = await receiver(status(500), status(429), status(200))
  const { lines } = alarmed({ url, timeout: '60s', headers: { authorization: 'Bearer x' } })
  await requests(3)
  expect(got.map(({ alarm }) => [alarm.rule, alarm.state, alarm.value])).toEqual(
    Array(3).fill(['keysWithoutTtl', 'firing', 2]),
  )
  expect(got[0]?.headers).toMatchObject({ authorization: 'Bearer x', 'content-type': 'application/json' })
  expect(lines).toEqual([])
})

const BAD_RECEIVERS: readonly [string, Answer, number, string][] = [
  ['refuses', status(403), 1, 'it answered 403'],
  ['sends it elsewhere', status(302, { location: 'http://127.0.0.1:1/' }), 1, 'it answered 302'],
  ['fails for good', status(503), 3, 'it answered 503'],
  ['cuts the connection', cut, 3, 'it could not be reached'],
  ['does not answer', silence, 3, 'it did not answer in time'],
]

test.each(BAD_RECEIVERS)(
  'a receiver that %s is told of without its secret, and never thrown',
  async (_, answer, tries, why) => {
    const { url, got } = await receiver(answer)
    const { lines, complaint } = alarmed({ url, tries: 3, timeout: answer === silence ? '1s' : '60s' })
    await complaint
    expect(got).toHaveLength(tries)
    expect(lines).toEqual([
      `an alarm (HoldfastKeysWithoutTtl) could not be sent to ${new URL(url).origin}/…: ${why}`,
    ])
  },
)

test('closing ends a request that is under way', async () => {
  let ended = (): void => {}
  const isCut = new Promise<void>((resolve) => {
    ended = resolve
  })
  const { url, got, requests } = await receiver((_, request) => {
    request.socket.on('close', ended)
  })
  const { observer, lines } = alarmed({ url, timeout: '60s' })
  await requests(1)
  observer.close()
  await isCut
  expect([got.length, lines]).toEqual([1, []])
})
