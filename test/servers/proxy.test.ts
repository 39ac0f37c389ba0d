import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { sever, startProxy, type TcpProxy } from '../../scripts/servers/proxy.ts'

/** The bytes that the server has received; it answers with the same. */
let received = ''
const sockets = new Set<Socket>()
const echo = createServer((socket) => {
  sockets.add(socket)
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    received += chunk.toString()
    socket.write(chunk)
  })
}).listen(0, '127.0.0.1')
await once(echo, 'listening')

let proxy: TcpProxy
afterEach(async () => {
  await proxy.close()
  received = ''
})

interface Client {
  readonly socket: Socket
  heard: string
  readonly closed: Promise<void>
}

/** Unlike `once`, does not mind an error before the end. */
function closing(socket: Socket): Promise<void> {
  socket.on('error', () => {})
  return new Promise((resolve) => socket.on('close', () => resolve()))
}

async function dial(): Promise<Client> {
  proxy = await startProxy((echo.address() as AddressInfo).port)
  return call()
}

async function call(): Promise<Client> {
  const socket = connect(proxy.port, '127.0.0.1')
  const client: Client = { socket, heard: '', closed: closing(socket) }
  socket.on('data', (chunk) => {
    client.heard += chunk.toString()
  })
  await once(socket, 'connect')
  return client
}

test('passes on what both sides say', async () => {
  const client = await dial()
  client.socket.write('hello')
  await expect.poll(() => client.heard).toBe('hello')
})

test('a held connection stays open, and what was said arrives when it heals', async () => {
  const client = await dial()
  proxy.hold('replies')
  client.socket.write('late')
  await expect.poll(() => received).toBe('late')
  expect(client.heard).toBe('')
  proxy.heal()
  await expect.poll(() => client.heard).toBe('late')
})

test('a cut ends connections and refuses new ones until it heals', async () => {
  const client = await dial()
  proxy.cut()
  await client.closed
  const refused = connect(proxy.port, '127.0.0.1')
  await closing(refused)
  proxy.heal()
  const again = await call()
  again.socket.write('again')
  await expect.poll(() => again.heard).toBe('again')
})

test('dropped bytes are lost, and the connection with them', async () => {
  const client = await dial()
  proxy.drop('replies')
  client.socket.write('lost')
  await expect.poll(() => received).toBe('lost')
  proxy.heal()
  await client.closed
  expect(client.heard).toBe('')
})

test('the reply to one request is lost after the server has seen it', async () => {
  const client = await dial()
  const lost = proxy.loseReplyTo('secret')
  client.socket.write('plain')
  await expect.poll(() => client.heard).toBe('plain')
  client.socket.write('the secret word')
  await lost
  await client.closed
  expect(received).toBe('plainthe secret word')
  expect(client.heard).toBe('plain')
})

test('open connections fall silent, new ones are served, and the silent ones end when it heals', async () => {
  const client = await dial()
  client.socket.write('before')
  await expect.poll(() => client.heard).toBe('before')
  proxy.silence()
  client.socket.write('lost')
  const other = await call()
  other.socket.write('served')
  await expect.poll(() => other.heard).toBe('served')
  expect(received).toBe('beforeserved')
  proxy.silence(true)
  const third = await call()
  third.socket.write('swallowed')
  proxy.silence()
  const fourth = await call()
  fourth.socket.write('served')
  await expect.poll(() => fourth.heard).toBe('served')
  expect(third.heard).toBe('')
  proxy.heal()
  await client.closed
  expect(client.heard).toBe('before')
})

test('one connection falls silent after a request that the server has seen', async () => {
  const client = await dial()
  const silent = proxy.silenceAfter('secret')
  client.socket.write('the secret word')
  await silent
  await expect.poll(() => received).toBe('the secret word')
  const other = await call()
  other.socket.write('served')
  await expect.poll(() => other.heard).toBe('served')
  expect(client.heard).toBe('')
})

test('a delay counts in each direction', async () => {
  const client = await dial()
  proxy.delay(40)
  const sentAtMs = performance.now()
  client.socket.write('slow')
  await expect.poll(() => client.heard, { interval: 1 }).toBe('slow')
  expect(performance.now() - sentAtMs).toBeGreaterThanOrEqual(78)
})

test('one client is banned by what it says first, the others are served', async () => {
  const [bad, good] = [await dial(), await call()]
  bad.socket.write('I am bad')
  good.socket.write('I am good')
  await expect.poll(() => [bad.heard, good.heard]).toEqual(['I am bad', 'I am good'])
  proxy.ban('bad')
  await bad.closed
  const again = await call()
  again.socket.write('bad as ever')
  await again.closed
  good.socket.write('!')
  await expect.poll(() => good.heard).toBe('I am good!')
  expect(again.heard).toBe('')
})

test('late bytes are not overtaken after it heals', async () => {
  const client = await dial()
  proxy.delay(5000)
  client.socket.write('first ')
  await expect.poll(() => proxy.late).toBe(1)
  proxy.heal()
  client.socket.write('second')
  await expect.poll(() => client.heard).toBe('first second')
})

test('scattered connections overtake each other, and what was sent on one that has ended arrives', async () => {
  const first = await dial()
  const second = await call()
  await expect.poll(() => proxy.connections).toBe(2)
  const lagsMs = [100, 0]
  proxy.scatter(() => lagsMs.shift() ?? 0)
  first.socket.write('first,')
  first.socket.write('and then,')
  first.socket.end()
  await expect.poll(() => proxy.late).toBeGreaterThan(0)
  second.socket.write('second,')
  await expect.poll(() => received).toBe('second,first,and then,')
  await first.closed
})

test('a connection that is about to end can be severed', async () => {
  const { socket, closed } = await dial()
  socket.end()
  sever(socket)
  await closed
})
