import { UsageError } from '../exit.ts'
import { canStartServers, OwnServer } from './servers/own.ts'
import { type Pair, startPair } from './servers/pair.ts'

/** Where the locks of a story are: for commands written by hand, and for Holdfast. */
export interface Address {
  readonly url: string
  readonly fencedUrl: string
}

/** Where the lab runs. */
export interface Place {
  /** Said before anything is shown. */
  readonly about: string
  readonly address: Address
  /** A primary and a replica to break. */
  pair(): Promise<Pair>
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
  const { url } = server
  return {
    about: `a Redis server of its own on port ${server.port}, ended with the lab`,
    address: addressOf(url),
    pair: () => startPair(addressOf),
    close: () => server.stop(),
  }
}

async function givenServer(url: string): Promise<Place> {
  if (!/^rediss?:\/\//.test(url))
    throw new UsageError('--store must be a redis:// or rediss:// URL: the lab is about Redis')
  return {
    about: `the Redis server at ${new URL(url).host}, under keys that begin with holdfast-lab:`,
    address: addressOf(url),
    pair: () => startPair(addressOf),
    close: async () => {},
  }
}

/** Holdfast would warn about a server that keeps nothing over a restart: here that is meant to be. */
function addressOf(url: string): Address {
  return { url, fencedUrl: `${url}${url.includes('?') ? '&' : '?'}check=off` }
}
