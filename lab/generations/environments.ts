import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { UsageError } from '../../src/cli/exit.ts'
import { messageOf, say } from '../../src/cli/output.ts'
import { connect, UnsupportedError } from '../../src/index.ts'
import { modelPair } from './model/pair.ts'
import { ModelServer } from './model/server.ts'
import { answers, canStartServers, OwnServer } from './servers/own.ts'
import { type Pair, startPair } from './servers/pair.ts'
import { sweep } from './servers/sweep.ts'
import { startTrio, type Trio } from './servers/trio.ts'

/** Where the locks of a story are: for commands written by hand, and for Holdfast. */
export interface ServerAddress {
  readonly url: string
  readonly fencedUrl: string
}

/** A server that may be killed and started again on what it left. */
export interface LabServer {
  readonly url: string
  crash(): Promise<void>
  begin(): Promise<void>
  stop(): Promise<void>
}

/** Where the lab runs. */
export interface LabEnvironment {
  /** Said before anything is shown. */
  readonly about: string
  readonly address: ServerAddress
  /** A key of this run, and of nobody else. */
  keyFor(name: string): string
  /** True if the servers that are broken are real ones. */
  readonly realServers: boolean
  /** A primary and a replica to break. */
  pair(): Promise<Pair>
  /** Three independent servers, of which one is broken; only where servers are real. */
  trio(): Promise<Trio>
  crashable(settings: readonly string[]): Promise<LabServer>
  close(): Promise<void>
}

const DEFAULT_URL = 'redis://127.0.0.1:6379'

/** The server that was named, else one of the lab's own, else the one on the usual port, else a model of one. */
export async function findPlace(store: string | undefined): Promise<LabEnvironment> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-lab-'))
  try {
    if (store !== undefined) return await onServer(checked(store), folder, canStartServers())
    if (canStartServers()) return await onOwnServer(folder)
    if (await answers(DEFAULT_URL)) return await onServer(DEFAULT_URL, folder, false)
    return await onModel(folder)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

async function onOwnServer(folder: string): Promise<LabEnvironment> {
  const server = await OwnServer.start()
  try {
    const { prefix: _, ...place } = await redisPlace(server.url, folder, true)
    const close = async (): Promise<void> => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    }
    return {
      ...place,
      about: `a Redis server of its own on port ${server.port}, ended with the lab${place.about}`,
      close,
    }
  } catch (error) {
    await server.stop()
    throw error
  }
}

async function onServer(url: string, folder: string, startable: boolean): Promise<LabEnvironment> {
  const { prefix, ...place } = await redisPlace(url, folder, startable)
  const close = async (): Promise<void> => {
    rmSync(folder, { recursive: true, force: true })
    await sweep(url, prefix).catch((error: unknown) => {
      say(`keys that begin with ${prefix} could not be deleted: ${messageOf(error)}`)
    })
  }
  const where = `the Redis server at ${new URL(url).host}, under keys that begin with ${prefix}`
  const missing = startable
    ? ''
    : '; failovers and crashes of servers run on a model, as there is no redis-server here to start'
  return { ...place, about: `${where}${place.about}${missing}`, close }
}

async function onModel(folder: string): Promise<LabEnvironment> {
  const server = await ModelServer.start()
  return {
    ...keys(),
    about:
      'no Redis: there is none on port 6379 and no redis-server to start, so a small model of one inside this process stands for it, and Holdfast runs over a SQLite file. The processes, their crashes and their pauses are real',
    address: { url: server.url, fencedUrl: fileUrl(folder, 'locks') },
    ...modelServers(folder),
    close: async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A scenario on a real server, except for its end. `about` has only its particulars. */
async function redisPlace(
  url: string,
  folder: string,
  startable: boolean,
): Promise<Omit<LabEnvironment, 'close'> & { prefix: string }> {
  const client = await hasClient(fencedUrlOf(url))
  const addressOf = (each: string): ServerAddress => ({ url: each, fencedUrl: fencedUrlOf(each) })
  return {
    ...keys(),
    about: client ? '' : '; Holdfast runs over a SQLite file, as neither ioredis nor redis is installed',
    address: client ? addressOf(url) : { url, fencedUrl: fileUrl(folder, 'locks') },
    ...(startable && client
      ? {
          realServers: true,
          trio: startTrio,
          pair: () => startPair(addressOf),
          crashable: (settings: readonly string[]) => OwnServer.start(...settings),
        }
      : modelServers(folder)),
  }
}

function modelServers(folder: string): Pick<LabEnvironment, 'realServers' | 'pair' | 'trio' | 'crashable'> {
  return {
    realServers: false,
    trio: () => Promise.reject(new UnsupportedError('the model has no quorum: install redis-server')),
    pair: () => modelPair((name) => fileUrl(folder, `${name}-${randomUUID()}`)),
    crashable: (settings) => ModelServer.start(...settings),
  }
}

function keys() {
  const prefix = `holdfast-lab:${randomUUID().slice(0, 8)}:`
  return { prefix, keyFor: (name: string) => `${prefix}${name}` }
}

/** Holdfast would warn about a server that keeps nothing over a restart: here that is meant to be. */
function fencedUrlOf(url: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}check=off`
}

function fileUrl(folder: string, name: string): string {
  return pathToFileURL(join(folder, `${name}.db`)).href
}

/** True if Holdfast finds a client library for Redis. */
async function hasClient(url: string): Promise<boolean> {
  try {
    await (await connect(url)).close()
    return true
  } catch (error) {
    if (error instanceof UnsupportedError) return false
    throw error
  }
}

function checked(store: string): string {
  if (/^rediss?:\/\//.test(store) && URL.canParse(store)) return store
  throw new UsageError('--store must be a redis:// or rediss:// URL: the lab is about Redis')
}
