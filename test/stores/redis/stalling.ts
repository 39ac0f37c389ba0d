import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to a server of the loopback interface on which connections fall silent, each for itself and for ever. */
export async function startStalling(targetPort: number) {
  const alive = new Set<Socket>()
  const sockets = new Set<Socket>()
  let opened = 0
  let served = Number.POSITIVE_INFINITY
  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
    if (++opened <= served) alive.add(client)
    client.on('data', (chunk) => alive.has(client) && upstream.write(chunk))
    upstream.on('data', (chunk) => alive.has(client) && client.write(chunk))
    client.on('close', () => {
      alive.delete(client)
      upstream.destroy()
    })
    upstream.on('close', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    /** How many connections answer. */
    answering: () => alive.size,
    /** How many connections are open, silent ones among them. */
    open: () => sockets.size / 2,
    /** Connections that are open now say nothing any more; new ones are served. */
    stall: () => alive.clear(),
    /** From now on that many new connections are served; later ones are accepted and hear nothing. */
    serve: (count: number) => {
      served = opened + count
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
