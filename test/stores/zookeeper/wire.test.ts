import { execFileSync } from 'node:child_process'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startProxy, type TcpProxy } from '../../../scripts/servers/proxy.ts'
import { type Ensemble, startZooKeeper } from '../../../scripts/servers/zookeeper.ts'
import { nodeRuntime } from '../../../src/core/runtime.ts'
import { ZooKeeperClient } from '../../../src/stores/zookeeper/wire/client.ts'
import type { Server } from '../../../src/stores/zookeeper/wire/connection.ts'
import type { Acl, NodeKind, WatchEvent } from '../../../src/stores/zookeeper/wire/protocol.ts'
import type { SessionOptions } from '../../../src/stores/zookeeper/wire/session.ts'

const WORLD: readonly Acl[] = [{ permissions: 31, scheme: 'world', id: 'anyone' }]
const CREATOR: readonly Acl[] = [{ permissions: 31, scheme: 'auth', id: '' }]
const NOTHING = Buffer.alloc(0)
const TIMEOUT_MS = 3000

let ensemble: Ensemble
let proxies: TcpProxy[]
const opened: ZooKeeperClient[] = []
let paths = 0

beforeAll(async () => {
  ensemble = await startZooKeeper()
  proxies = await Promise.all(ensemble.ports.map((port) => startProxy(port)))
})

afterEach(async () => {
  for (const proxy of proxies) proxy.heal()
  await Promise.all(opened.splice(0).map((client) => client.session.close()))
})

afterAll(async () => {
  await Promise.all(proxies.map((proxy) => proxy.close()))
  await ensemble.stop()
})

interface Opened {
  readonly client: ZooKeeperClient
  /** What the session told, in its order. */
  readonly told: string[]
}

async function open(options: Partial<SessionOptions> = {}): Promise<Opened> {
  const told: string[] = []
  const servers = ensemble.ports.map((port): Server => ({ host: '127.0.0.1', port }))
  const client = new ZooKeeperClient(
    { servers, timeoutMs: TIMEOUT_MS, auth: null, runtime: nodeRuntime, ...options },
    {
      connected: () => told.push('connected'),
      disconnected: () => told.push('disconnected'),
      expired: () => told.push('expired'),
    },
  )
  opened.push(client)
  await client.session.ready(10_000)
  return { client, told }
}

/** Through a proxy before each member. */
function openByProxy(options: Partial<SessionOptions> = {}): Promise<Opened> {
  return open({ servers: proxies.map(({ port }) => ({ host: '127.0.0.1', port })), ...options })
}

function proxyInUse(): TcpProxy {
  return proxies.find(({ connections }) => connections > 0) as TcpProxy
}

function newPath(): string {
  return `/wire-${++paths}`
}

function make(client: ZooKeeperClient, path: string, data = '', node: NodeKind = 'persistent') {
  return client.create(path, Buffer.from(data), node, WORLD)
}

describe('requests', () => {
  it('agree on a time-out within the limits of the ensemble', async () => {
    expect((await open()).client.session.timeoutMs).toBe(TIMEOUT_MS)
    const { client } = await open({ timeoutMs: 1 })
    expect(client.session.timeoutMs).toBe(1000)
  })

  it('create, read, change and delete a node', async () => {
    const { client } = await open()
    const path = newPath()
    const { path: made, stat } = await make(client, path, 'ünï 🔒')
    expect(made).toBe(path)
    expect(typeof stat.czxid).toBe('bigint')
    const read = await client.getData(path)
    expect(read.data.toString()).toBe('ünï 🔒')
    expect(read.stat).toEqual(stat)
    const changed = await client.setData(path, Buffer.from('2'), 0)
    expect(changed.version).toBe(1)
    expect(changed.mzxid).toBeGreaterThan(stat.mzxid)
    await client.delete(path, 1)
    expect(await client.exists(path)).toBe(null)
  })

  it('number sequential nodes, and tell their names', async () => {
    const { client } = await open()
    const path = newPath()
    await make(client, path)
    const first = await make(client, `${path}/a,`, '', 'ephemeral sequential')
    const second = await make(client, `${path}/b,`, '', 'persistent sequential')
    expect([first.path, second.path]).toEqual([`${path}/a,0000000000`, `${path}/b,0000000001`])
    expect(first.stat.ephemeralOwner).not.toBe(0n)
    expect(second.stat.czxid).toBeGreaterThan(first.stat.czxid)
    const { names } = await client.getChildren(path)
    expect(names.sort()).toEqual(['a,0000000000', 'b,0000000001'])
  })

  it('tell errors apart', async () => {
    const { client } = await open()
    const path = newPath()
    await make(client, path)
    await make(client, `${path}/child`)
    await expect(make(client, path)).rejects.toMatchObject({ reason: 'NodeExists' })
    await expect(client.delete(path)).rejects.toMatchObject({ reason: 'NotEmpty' })
    await expect(client.setData(path, NOTHING, 7)).rejects.toMatchObject({ reason: 'BadVersion' })
    await expect(client.getData(`${path}/none`)).rejects.toMatchObject({ reason: 'NoNode' })
    await expect(client.getChildren(`${path}/none`)).rejects.toMatchObject({ reason: 'NoNode' })
    await expect(make(client, 'no path')).rejects.toMatchObject({ reason: 'Other' })
  })

  it('do everything of a transaction', async () => {
    const { client } = await open()
    const path = newPath()
    const result = await client.multi([
      { kind: 'create', path, data: NOTHING, node: 'container', acl: WORLD },
      { kind: 'create', path: `${path}/n,`, data: NOTHING, node: 'ephemeral sequential', acl: WORLD },
      { kind: 'set', path, data: Buffer.from('x') },
      { kind: 'check', path, version: 1 },
    ])
    expect(result).toMatchObject({ ok: true, done: [{ path }, { path: `${path}/n,0000000000` }, {}, {}] })
    const first = result.ok ? result.done[0]?.stat?.czxid : null
    expect((await client.exists(`${path}/n,0000000000`))?.czxid).toBe(first)
  })

  it('do nothing of a transaction that fails, and say where', async () => {
    const { client } = await open()
    const path = newPath()
    const result = await client.multi([
      { kind: 'create', path, data: NOTHING, node: 'persistent', acl: WORLD },
      { kind: 'check', path: `${path}/none` },
      { kind: 'delete', path },
    ])
    expect(result).toMatchObject({ ok: false, failed: 1, error: { reason: 'NoNode' } })
    expect(await client.exists(path)).toBe(null)
  })

  it('are carried out in their order when many are sent at once', async () => {
    const { client } = await open()
    const path = newPath()
    void make(client, path)
    const writes = Array.from({ length: 300 }, (_, index) => client.setData(path, Buffer.from(`${index}`)))
    const reads = client.getData(path)
    expect((await Promise.all(writes)).map(({ version }) => version)).toEqual(writes.map((_, i) => i + 1))
    expect((await reads).data.toString()).toBe('299')
  })

  it('read answers of many packets', async () => {
    const { client } = await open()
    const path = newPath()
    await make(client, path)
    const names = Array.from({ length: 2000 }, (_, index) => `${'long-name-'.repeat(10)}${index}`)
    await Promise.all(names.map((name) => make(client, `${path}/${name}`)))
    const large = 'x'.repeat(900_000)
    await client.setData(path, Buffer.from(large))
    const [listed, read] = await Promise.all([client.getChildren(path), client.getData(path)])
    expect(listed.names.sort()).toEqual(names.sort())
    expect(read.data.toString() === large).toBe(true)
  })

  it('read through one server what was written through another, after a sync', async () => {
    const [member, other] = ensemble.ports.map((port) => ({ servers: [{ host: '127.0.0.1', port }] }))
    const { client: writer } = await open(member)
    const { client: reader } = await open(other)
    const path = newPath()
    for (let round = 0; round < 20; round++) {
      await make(writer, `${path}-${round}`)
      const [, stat] = await Promise.all([reader.sync('/'), reader.exists(`${path}-${round}`)])
      expect(stat).not.toBe(null)
    }
  })

  it('are made by whom they say', async () => {
    const auth = { scheme: 'digest', text: 'ann:secret' }
    const { client: ann } = await open({ auth })
    const { client: stranger } = await open({ auth: { scheme: 'digest', text: 'ann:guessed' } })
    const path = newPath()
    await ann.create(path, Buffer.from('hers'), 'persistent', CREATOR)
    // Each session may be at another server, and only after a sync does that know the node.
    await stranger.sync(path)
    await expect(stranger.getData(path)).rejects.toMatchObject({ reason: 'NoAuth' })
    await expect(stranger.setData(path, NOTHING)).rejects.toMatchObject({ reason: 'NoAuth' })
    ann.session.disconnect()
    await ann.session.ready(5000)
    await ann.sync(path)
    expect((await ann.getData(path)).data.toString(), 'after a reconnect, too').toBe('hers')
  })
})

describe('watches', () => {
  it('are told once, of what they watch', async () => {
    const { client } = await open()
    const path = newPath()
    const events: WatchEvent[] = []
    const note = (event: WatchEvent) => void events.push(event)
    expect(await client.exists(path, note)).toBe(null)
    await make(client, path)
    expect(events).toEqual([{ kind: 'created', path }])
    await client.getData(path, note)
    await client.setData(path, NOTHING)
    await client.setData(path, NOTHING)
    expect(events.slice(1)).toEqual([{ kind: 'changed', path }])
    await client.getChildren(path, note)
    await make(client, `${path}/child`)
    expect(events.slice(2)).toEqual([{ kind: 'children', path }])
    await client.exists(`${path}/child`, note)
    await client.delete(`${path}/child`)
    expect(events.slice(3)).toEqual([{ kind: 'deleted', path: `${path}/child` }])
    expect(client.session.watches.size).toBe(0)
  })

  it('are in place when the event follows at once', async () => {
    const { client } = await open()
    const { client: other } = await open()
    for (let round = 0; round < 30; round++) {
      const path = newPath()
      await make(other, path)
      await client.sync('/')
      // Whichever comes first, the watcher hears of it or the read does.
      const seen = new Promise((resolve) => {
        client.getData(path, resolve).catch(resolve)
      })
      await Promise.all([other.delete(path), seen])
    }
  })

  it('of several watchers are told to each', async () => {
    const { client } = await open()
    const path = newPath()
    await make(client, path)
    const heard: string[] = []
    await Promise.all(['a', 'b'].map((name) => client.getData(path, () => heard.push(name))))
    await client.delete(path)
    expect(heard.sort()).toEqual(['a', 'b'])
  })

  it('of a node that is not there leave nothing behind', async () => {
    const { client } = await open()
    await expect(client.getData(newPath(), () => {})).rejects.toMatchObject({ reason: 'NoNode' })
    expect(client.session.watches.size).toBe(0)
  })

  it('are kept over a reconnect, and tell what happened meanwhile', async () => {
    const { client } = await openByProxy()
    const { client: other } = await open()
    const [gone, changed, kept, grown, made] = [newPath(), newPath(), newPath(), newPath(), newPath()]
    await Promise.all([gone, changed, kept, grown].map((path) => make(other, path)))
    await client.sync('/')
    const events: string[] = []
    const note = ({ kind, path }: WatchEvent) => void events.push(`${kind} ${path}`)
    await Promise.all([gone, changed, kept].map((path) => client.getData(path, note)))
    await Promise.all([client.getChildren(grown, note), client.exists(made, note)])
    for (const proxy of proxies) proxy.cut()
    await other.delete(gone)
    await other.setData(changed, NOTHING)
    await make(other, `${grown}/child`)
    await make(other, made)
    for (const proxy of proxies) proxy.heal()
    const missed = [`deleted ${gone}`, `changed ${changed}`, `children ${grown}`, `created ${made}`].sort()
    await expect.poll(() => events.toSorted(), { timeout: 5000 }).toEqual(missed)
    await other.delete(kept)
    await expect.poll(() => events.at(-1), { timeout: 5000 }).toBe(`deleted ${kept}`)
  })
})

describe('the session', () => {
  it('goes on with another server when one is lost', async () => {
    const { client, told } = await openByProxy()
    const path = newPath()
    await make(client, path, '', 'ephemeral')
    proxyInUse().cut()
    await expect.poll(() => told).toEqual(['connected', 'disconnected', 'connected'])
    expect(await client.exists(path)).not.toBe(null)
  })

  it('fails what was not answered, and sends nothing again', async () => {
    const { client } = await openByProxy()
    const { client: other } = await open()
    const path = newPath()
    const proxy = proxyInUse()
    proxy.drop('replies')
    const made = make(client, path, '', 'ephemeral').catch((error: unknown) => error)
    await expect.poll(() => other.exists(path), { timeout: 2000 }).not.toBe(null)
    proxy.heal()
    expect(await made).toMatchObject({ reason: 'ConnectionLoss' })
    await expect(make(client, newPath())).rejects.toMatchObject({ reason: 'ConnectionLoss' })
    await client.session.ready(5000)
    await client.sync('/')
    expect(await client.exists(path), 'it was carried out, and belongs to the session').not.toBe(null)
  })

  it('gives up a server that is silent for two thirds of the time-out', async () => {
    const { client, told } = await openByProxy()
    const path = newPath()
    await make(client, path, '', 'ephemeral')
    const startedAtMs = performance.now()
    proxyInUse().hold()
    await expect.poll(() => told, { timeout: TIMEOUT_MS, interval: 10 }).toContain('disconnected')
    const silentMs = performance.now() - startedAtMs
    expect(silentMs).toBeGreaterThan(TIMEOUT_MS * 0.5)
    await expect.poll(() => told, { timeout: TIMEOUT_MS }).toEqual(['connected', 'disconnected', 'connected'])
    expect(await client.exists(path), 'the session goes on').not.toBe(null)
  })

  it('is introduced anew after half the time-out in which its process stood still, so that the leader hears of it', async () => {
    const { client, told } = await openByProxy()
    const { id } = client.session
    const path = newPath()
    await make(client, path, '', 'ephemeral')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TIMEOUT_MS * 0.55)
    expect(client.session.isConnected).toBe(false)
    await client.session.ready(5000)
    expect(told).toEqual(['connected', 'disconnected', 'connected'])
    expect(client.session.id).toBe(id)
    expect(await client.exists(path)).not.toBe(null)
  })

  it('is told apart from a disconnect when it expires', async () => {
    const { client, told } = await openByProxy({ timeoutMs: 1000 })
    const { client: other } = await open()
    const path = newPath()
    await make(client, path, '', 'ephemeral')
    await expect.poll(() => other.exists(path)).not.toBe(null)
    for (const proxy of proxies) proxy.cut()
    await expect.poll(() => told).toEqual(['connected', 'disconnected'])
    await expect.poll(() => other.exists(path), { timeout: 5000 }).toBe(null)
    expect(told, 'only the ensemble can end a session').toEqual(['connected', 'disconnected'])
    for (const proxy of proxies) proxy.heal()
    await expect.poll(() => told, { timeout: 5000 }).toEqual(['connected', 'disconnected', 'expired'])
    await expect(client.exists(path)).rejects.toMatchObject({ reason: 'SessionExpired' })
    await expect(client.session.ready(1000)).rejects.toMatchObject({ reason: 'SessionExpired' })
  })

  it('takes its ephemeral nodes with it when it is closed', async () => {
    const { client } = await open()
    const { client: other } = await open()
    const path = newPath()
    await make(client, path, '', 'ephemeral')
    await client.session.close()
    await client.session.close()
    await other.sync('/')
    expect(await other.exists(path)).toBe(null)
    await expect(client.exists(path)).rejects.toMatchObject({ reason: 'SessionExpired' })
  })

  it('keeps its ephemeral nodes when it is closed quietly, until its time-out', async () => {
    const { client } = await open({ timeoutMs: 1000 })
    const { client: other } = await open()
    const path = newPath()
    await make(client, path, '', 'ephemeral')
    await client.session.close(true)
    await other.sync('/')
    expect(await other.exists(path)).not.toBe(null)
    await expect.poll(() => other.exists(path), { timeout: 5000 }).toBe(null)
  })

  it('says that nobody is there when nobody is', async () => {
    const { client } = await openByProxy()
    for (const proxy of proxies) proxy.cut()
    await expect.poll(() => client.session.isConnected).toBe(false)
    await expect(client.session.ready(50)).rejects.toMatchObject({ reason: 'ConnectionLoss' })
  })

  it('lives through pauses of its requests, by pings', async () => {
    const { client, told } = await open({ timeoutMs: 1000 })
    const path = newPath()
    await make(client, path, '', 'ephemeral')
    await new Promise((resolve) => setTimeout(resolve, 2500))
    expect(told).toEqual(['connected'])
    expect(await client.exists(path)).not.toBe(null)
  })

  it('does not keep a process alive that has nothing to do, but answers one that waits', () => {
    const program = `
      import { nodeRuntime } from './src/core/runtime.ts'
      import { ZooKeeperClient } from './src/stores/zookeeper/wire/client.ts'
      const nothing = () => {}
      const listener = { connected: nothing, disconnected: nothing, expired: nothing }
      const servers = [{ host: '127.0.0.1', port: ${ensemble.ports[0]} }]
      const client = new ZooKeeperClient({ servers, timeoutMs: 60000, auth: null, runtime: nodeRuntime }, listener)
      await client.session.ready(5000)
      const { names } = await client.getChildren('/')
      console.log(names.includes('zookeeper'))
    `
    const args = ['--import', 'tsx', '--input-type=module', '--eval', program]
    const output = execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 })
    expect(output.trim()).toBe('true')
  })
})
