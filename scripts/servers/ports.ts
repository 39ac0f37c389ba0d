import { createServer } from 'node:net'

/**
 * Below the ports that the system gives to outgoing connections: a server that is killed must find its port free when it
 * comes back, and among those any client may have taken it.
 */
const LOWEST = 12_000
const HIGHEST = 32_000

/** A port of the loopback interface that was free a moment ago. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST))
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
