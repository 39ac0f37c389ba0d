import { Redis } from 'ioredis'
import { load } from '../redis/load.ts'
import { redlock5 } from '../redis/peers.ts'
import { POLL_MS, TTL_MS } from '../redis/subject.ts'

export const REDLOCK = 'redlock 5'
export const SEMAPHORE = 'redis-semaphore'
export const PEER_SETTINGS =
  `${REDLOCK}: retryCount -1, retryDelay ${POLL_MS} ms, retryJitter ${POLL_MS / 2} ms. ` +
  `${SEMAPHORE}: retryInterval ${POLL_MS} ms, acquireTimeout 10 minutes. By themselves both give up within seconds.`

const PATIENCE_MS = 600_000
/** Not read by those that are opened here. */
const NO_BROKER = 0

export interface Peer {
  enter(key: string, work: () => Promise<void>): Promise<void>
  close(): Promise<unknown>
}

interface SemaphoreModule {
  Semaphore: new (
    client: object,
    key: string,
    limit: number,
    options: object,
  ) => { acquire(): Promise<void>; release(): Promise<void> }
}

export function isPeer(subject: string): boolean {
  return subject === REDLOCK || subject === SEMAPHORE
}

/** `limit`: how many a semaphore lets in at once. */
export async function openPeer(subject: string, url: string, limit = 1): Promise<Peer> {
  if (subject === REDLOCK) {
    const { run, close } = await redlock5({ redis: url, brokerPort: NO_BROKER }, 'tuned')
    return { enter: run, close }
  }
  const { Semaphore } = await load<SemaphoreModule>('redis-semaphore')
  const client = new Redis(url)
  const options = { lockTimeout: TTL_MS, retryInterval: POLL_MS, acquireTimeout: PATIENCE_MS }
  return {
    async enter(key, work) {
      const semaphore = new Semaphore(client, key, limit, options)
      await semaphore.acquire()
      await work()
      await semaphore.release()
    },
    close: () => client.quit(),
  }
}
