import { nodeRuntime } from '../../src/core/runtime.ts'
import { ZooKeeperClient } from '../../src/stores/zookeeper/client/client.ts'
import { isWire } from '../../src/stores/zookeeper/client/errors.ts'
import type { Acl } from '../../src/stores/zookeeper/client/protocol.ts'
import { CURRENT, older } from '../library.ts'
import { olderEntry } from '../older.ts'
import { load } from '../redis/load.ts'
import { oursOver } from './ours.ts'
import type { NativeZooKeeper, ZooKeeperModule } from './peer-shapes.ts'
import { BARE, type Catalogue, OURS, type Subject, TTL_MS } from './subject.ts'

const ANYONE: readonly Acl[] = [{ permissions: 31, scheme: 'world', id: 'anyone' }]
const NOTHING = Buffer.alloc(0)

/** A node that is made and deleted, and nothing else. */
async function bare(endpoint: string): Promise<Subject> {
  const [host = '', port] = endpoint.split(':')
  const servers = [{ host, port: Number(port) }]
  const listener = { connected: ignore, disconnected: ignore, expired: ignore }
  const client = new ZooKeeperClient(
    { servers, timeoutMs: TTL_MS, auth: null, tls: null, runtime: nodeRuntime },
    listener,
  )
  await client.session.ready(10_000)
  await client.create('/bare', NOTHING, 'persistent', ANYONE).catch((error) => {
    if (!isWire(error, 'NodeExists')) throw error
  })
  return {
    async run(key, work) {
      const { path } = await client.create(`/bare/${key},`, NOTHING, 'ephemeral sequential', ANYONE)
      await work()
      await client.delete(path)
    },
    trip: () => client.setData('/bare', NOTHING),
    close: () => client.session.close(),
  }
}

async function ours(endpoint: string): Promise<Subject> {
  return oursOver(CURRENT, CURRENT.zookeeper(`zookeeper://${endpoint}`))
}

async function olderBuild(endpoint: string): Promise<Subject> {
  const library = await older()
  return oursOver(library, library.zookeeper(`zookeeper://${endpoint}/older-build`))
}

/** The recipe of ZooKeeper's own manual: a sequential node, a listing, a watch on the one before. */
async function native(endpoint: string): Promise<Subject> {
  const { default: ZooKeeper } = await load<{ default: ZooKeeperModule }>('zookeeper')
  const client = new ZooKeeper({ connect: endpoint, timeout: TTL_MS, debug_level: 1 })
  await new Promise<void>((resolve, reject) => {
    client.once('connect', () => resolve())
    client.init({})
    setTimeout(() => reject(new Error('the native client does not connect')), 10_000).unref()
  })
  const { ZOO_EPHEMERAL, ZOO_SEQUENCE } = ZooKeeper
  const folders = new Map<string, Promise<void>>()
  const folder = (path: string): Promise<void> => {
    const known = folders.get(path) ?? made(client, path)
    folders.set(path, known)
    return known
  }
  await folder('/native')
  return {
    async run(key, work) {
      const parent = `/native/${key}`
      await folder(parent)
      const path = await client.create(`${parent}/n-`, '', ZOO_EPHEMERAL | ZOO_SEQUENCE)
      const own = path.slice(parent.length + 1)
      for (;;) {
        const names = (await client.get_children(parent, false)).toSorted()
        const before = names[names.indexOf(own) - 1]
        if (before === undefined) break
        await gone(client, `${parent}/${before}`)
      }
      await work()
      await client.delete_(path, -1)
    },
    async close() {
      client.close()
    },
  }
}

function made(client: NativeZooKeeper, path: string): Promise<void> {
  return client.create(path, '', 0).then(ignore, (error: Error) => {
    if (!/node exists/i.test(error.message)) throw error
  })
}

/** Until the node is not there any more. */
function gone(client: NativeZooKeeper, path: string): Promise<void> {
  return new Promise((resolve) => {
    client.w_exists(path, () => resolve()).catch(() => resolve())
  })
}

function ignore(): void {}

export const ZOOKEEPER_CATALOGUE: Catalogue = {
  [BARE]: { role: 'bare', open: bare },
  [OURS]: { role: 'ours', open: ours },
  ...olderEntry({ role: 'older' as const, open: olderBuild }),
  'plain recipe, native client': { role: 'peer', open: native },
}
