import { randomUUID } from 'node:crypto'
import { UsageError } from '../exit.ts'
import { canStartServers, OwnServer } from './servers/own.ts'
import { type Pair, startPair } from './servers/pair.ts'
import { Connection } from './wire/connection.ts'

/** Where the locks of a story are: for commands written by hand, and for Holdfast. */
export interface Address {
  readonly url: string
  readonly fencedUrl: string
}

/** A server that may be killed and started again on what it left. */
export interface Server {
  readonly url: string
  crash(): Promise<void>
  begin(): Promise<void>
  stop(): Promise<void>
}

/** Where the lab runs. */
export interface Place {
  /** Said before anything is shown. */
  readonly about: string
  readonly address: Address
  /** A key of this run, and of nobody else. */
  keyFor(name: string): string
  /** A primary and a replica to break. */
  pair(): Promise<Pair>
  crashable(settings: readonly string[]): Promise<Server>
  close(): Promise<void>
}

const DEFAULT_URL = 'redis://127.0.0.1:6379'

/** The server that was named, else one of the lab's own, else one on the usual port. */
export async function findPlace(store: string | undefined): Promise<Place> {
  if (store !== undefined) return await givenServer(store)
  if (canStartServers()) return await ownServer()
  return await givenServer(DEFAULT_URL)
}

async function ownServer(): Promise<Place> {
  const server = await OwnServer.start()
  return {
    ...common(),
    about: `a Redis server of its own on port ${server.port}, ended with the lab`,
    address: addressOf(server.url),
    close: () => server.stop(),
  }
}

async function givenServer(url: string): Promise<Place> {
  if (!/^rediss?:\/\//.test(url))
    throw new UsageError('--store must be a redis:// or rediss:// URL: the lab is about Redis')
  const { prefix, ...rest } = common()
  return {
    ...rest,
    about: `the Redis server at ${new URL(url).host}, under keys that begin with ${prefix}`,
    address: addressOf(url),
    close: () => sweep(url, prefix),
  }
}

function common() {
  const prefix = `holdfast-lab:${randomUUID().slice(0, 8)}:`
  return {
    prefix,
    keyFor: (name: string) => `${prefix}${name}`,
    pair: () => startPair(addressOf),
    crashable: (settings: readonly string[]) => OwnServer.start(...settings),
  }
}

/** Holdfast would warn about a server that keeps nothing over a restart: here that is meant to be. */
function addressOf(url: string): Address {
  return { url, fencedUrl: `${url}${url.includes('?') ? '&' : '?'}check=off` }
}

/** Deletes whatever this run has left, also what Holdfast keeps of a lock after its end. */
async function sweep(url: string, prefix: string): Promise<void> {
  const connection = await Connection.open(url)
  try {
    let cursor = '0'
    do {
      const [next, keys] = (await connection.call('SCAN', cursor, 'MATCH', `*${prefix}*`, 'COUNT', 500)) as [
        string,
        string[],
      ]
      if (keys.length > 0) await connection.call('DEL', ...keys)
      cursor = next
    } while (cursor !== '0')
  } finally {
    connection.close()
  }
}
