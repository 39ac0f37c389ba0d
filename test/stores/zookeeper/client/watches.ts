import { describe, expect, it } from 'vitest'
import type { WatchEvent } from '../../../../src/stores/zookeeper/client/protocol.ts'
import { make, NOTHING, newPath, open, openByProxy, proxies } from './support.ts'

describe('watches', () => {
  it('are called once', async () => {
    const { client } = await open()
    const path = newPath()
    const events: WatchEvent[] = []
    const note = (event: WatchEvent) => void events.push(event)
    await make(client, path)
    await client.getData(path, note)
    await client.setData(path, NOTHING)
    await client.setData(path, NOTHING)
    expect(events).toEqual([{ kind: 'changed', path }])
    await client.list(path, note)
    await make(client, `${path}/child`)
    expect(events.slice(1)).toEqual([{ kind: 'children', path }])
    await client.getData(`${path}/child`, note)
    await client.delete(`${path}/child`)
    expect(events.slice(2)).toEqual([{ kind: 'deleted', path: `${path}/child` }])
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

  it('of several watchers call each of them', async () => {
    const { client } = await open()
    const path = newPath()
    await make(client, path)
    const heard: string[] = []
    await Promise.all(['a', 'b'].map((name) => client.getData(path, () => heard.push(name))))
    await client.delete(path)
    expect(heard.sort()).toEqual(['a', 'b'])
  })

  it('of an absent node leave nothing behind', async () => {
    const { client } = await open()
    await expect(client.getData(newPath(), () => {})).rejects.toMatchObject({ reason: 'NoNode' })
    expect(client.session.watches.size).toBe(0)
  })

  it('survive a reconnect and report the missed changes', async () => {
    const { client } = await openByProxy()
    const { client: other } = await open()
    const [gone, changed, kept, grown] = [newPath(), newPath(), newPath(), newPath()]
    await Promise.all([gone, changed, kept, grown].map((path) => make(other, path)))
    await client.sync('/')
    const events: string[] = []
    const note = ({ kind, path }: WatchEvent) => void events.push(`${kind} ${path}`)
    await Promise.all([gone, changed, kept].map((path) => client.getData(path, note)))
    await client.list(grown, note)
    for (const proxy of proxies) proxy.cut()
    await other.delete(gone)
    await other.setData(changed, NOTHING)
    await make(other, `${grown}/child`)
    for (const proxy of proxies) proxy.heal()
    const missed = [`deleted ${gone}`, `changed ${changed}`, `children ${grown}`].sort()
    await expect.poll(() => events.toSorted(), { timeout: 5000 }).toEqual(missed)
    await other.delete(kept)
    await expect.poll(() => events.at(-1), { timeout: 5000 }).toBe(`deleted ${kept}`)
  })
})
