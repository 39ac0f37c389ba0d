import { describe, expect, it } from 'vitest'
import { CREATOR, ensemble, make, NOTHING, newPath, open, TIMEOUT_MS, WORLD } from './support.ts'

describe('requests', () => {
  it('agrees on a timeout within the limits of the ensemble', async () => {
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

  it('number sequential nodes and return their names', async () => {
    const { client } = await open()
    const path = newPath()
    await make(client, path)
    const first = await make(client, `${path}/a,`, '', 'ephemeral sequential')
    const second = await make(client, `${path}/b,`, '', 'persistent sequential')
    expect([first.path, second.path]).toEqual([`${path}/a,0000000000`, `${path}/b,0000000001`])
    expect(first.stat.ephemeralOwner).not.toBe(0n)
    expect(second.stat.czxid).toBeGreaterThan(first.stat.czxid)
    const names = await client.list(path)
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
    await expect(client.list(`${path}/none`)).rejects.toMatchObject({ reason: 'NoNode' })
    await expect(make(client, 'no path')).rejects.toMatchObject({ reason: 'Other' })
  })

  it('execute a whole transaction', async () => {
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

  it('execute nothing of a transaction that fails, and report the failed operation', async () => {
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

  it('are executed in order when many are sent at once', async () => {
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
    const [listed, read] = await Promise.all([client.list(path), client.getData(path)])
    expect(listed.sort()).toEqual(names.sort())
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

  it('are made by the owner in their ACL', async () => {
    const auth = { scheme: 'digest', user: 'ann', password: 'secret' } as const
    const { client: ann } = await open({ auth })
    const { client: stranger } = await open({ auth: { ...auth, password: 'guessed' } })
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
