import { once } from 'node:events'
import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { connect } from 'holdfast'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { startEtcd } from '../../scripts/servers/etcd.ts'
import { startZooKeeper } from '../../scripts/servers/zookeeper.ts'
import { failure } from '../core/support.ts'

const CALL_TIMEOUT_MS = 250
/** The time that a busy machine may add to a deadline. */
const SLACK_MS = 3000

const [cluster, ensemble] = await Promise.all([startEtcd({ members: 1 }), startZooKeeper({ size: 1 })])
afterAll(() => Promise.all([cluster.stop(), ensemble.stop()]))

const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(':') + 1))
const SERVERS = [
  ['etcd', portOf(cluster.endpoints[0] as string)],
  ['zookeeper', portOf(ensemble.hosts)],
] as const

/** A way to a server that accepts and says nothing until it is opened. */
async function startClosedWay(targetPort: number) {
  const clients = new Set<Socket>()
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const server = createServer(async (client) => {
    clients.add(client)
    client.on('error', () => {})
    client.on('close', () => clients.delete(client))
    // Reads without an answer too, so that the end of the connection is noticed.
    const said = client.pipe(new PassThrough())
    await opened
    const upstream = connectTo(targetPort, '127.0.0.1')
    upstream.on('error', () => client.destroy())
    client.on('close', () => upstream.destroy())
    said.pipe(upstream).pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    for (const client of clients) client.destroy()
    server.close()
    await once(server, 'close')
  })
  return { port: (server.address() as AddressInfo).port, clients, open }
}

it.each(SERVERS)(
  'connect to a silent %s rejects in time and leaves nothing behind',
  async (scheme, target) => {
    const way = await startClosedWay(target)
    // As many as make a long way to the last one.
    const hosts = Array(8).fill(`127.0.0.1:${way.port}`)
    const beganMs = performance.now()
    const error = await failure(
      connect(`${scheme}://app:s3cret@${hosts.join(',')}`, { callTimeout: CALL_TIMEOUT_MS }),
    )
    expect(performance.now() - beganMs).toBeLessThan(CALL_TIMEOUT_MS + SLACK_MS)
    expect(error).toMatchObject({ name: 'StoreError', code: 'STORE_UNAVAILABLE' })
    expect(error.message).toContain(`${hosts.join(', ')} cannot be reached: no answer within 250 ms`)
    await expect.poll(() => way.clients.size, { timeout: SLACK_MS }).toBe(0)
  },
)

it.each(SERVERS)('a connection to %s that comes about too late is closed', async (scheme, target) => {
  const way = await startClosedWay(target)
  await failure(connect(`${scheme}://127.0.0.1:${way.port}`, { callTimeout: CALL_TIMEOUT_MS }))
  way.open()
  await expect.poll(() => way.clients.size, { timeout: SLACK_MS }).toBe(0)
})

it.each(SERVERS)('each connect to %s has a timeout of its own', async (scheme, target) => {
  const way = await startClosedWay(target)
  const url = `${scheme}://127.0.0.1:${way.port}`
  const [patient, hasty] = [connect(url), failure(connect(url, { callTimeout: CALL_TIMEOUT_MS }))]
  expect((await hasty).message).toContain('no answer within 250 ms')
  way.open()
  const locks = await patient
  onTestFinished(() => locks.close())
  expect(await locks.using('key', () => 'done')).toBe('done')
})
