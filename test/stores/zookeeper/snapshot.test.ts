import { describe, expect, it } from 'vitest'
import { answerError, CODES } from '../../../src/stores/zookeeper/client/errors.ts'
import type { LockSession } from '../../../src/stores/zookeeper/client/lock-session.ts'
import type { WatchKind } from '../../../src/stores/zookeeper/client/protocol.ts'
import type { WatchCallback } from '../../../src/stores/zookeeper/client/watches.ts'
import type { LocalClaim } from '../../../src/stores/zookeeper/local-claims.ts'
import { QueueSnapshot } from '../../../src/stores/zookeeper/snapshot.ts'

const node = (id: string, seq: number, mode = 'x') => `3,${id},${mode},q,,,${String(seq).padStart(10, '0')}`

/** A key on a server of which the test says what is there. */
class Server {
  names: string[] = []
  lists = 0
  private readonly watchers = new Map<string, WatchCallback>()

  readonly session = {
    nowMs: () => 0,
    client: {
      list: async (_: string, watcher?: WatchCallback) => {
        this.lists++
        if (watcher !== undefined) this.watchers.set('', watcher)
        return [...this.names]
      },
      attend: async (path: string, watcher: WatchCallback) => {
        const name = path.slice('/key/'.length)
        if (!this.names.includes(name)) throw answerError(CODES.NoNode, path)
        this.watchers.set(name, watcher)
      },
    },
  } as unknown as LockSession

  end(name: string, kind: WatchKind): void {
    this.names = this.names.filter((other) => other !== name)
    this.tell(name, kind)
  }

  tell(name: string, kind: WatchKind): void {
    const watcher = this.watchers.get(name)
    this.watchers.delete(name)
    watcher?.({ kind, path: `/key/${name}` })
  }
}

function scene(...names: string[]) {
  const server = new Server()
  server.names = names
  const woken: string[] = []
  const ours: string[] = []
  /** Claims of this process, by id and key. */
  const claims = {
    get(name: string) {
      const id = name.slice(0, -'key'.length)
      return ours.includes(id) ? { node: { name: nameIn(names, id) } } : undefined
    },
  }
  const context = { events: { wake: () => woken.push('woken') }, claims }
  const local = { context, claim: { key: 'key' }, node: { name: names[0] } } as unknown as LocalClaim
  return { server, snapshot: new QueueSnapshot(server.session, '/key'), local, woken, ours }
}

const nameIn = (names: readonly string[], id: string) => names.find((name) => name.split(',')[1] === id)

const [A, B, C, D] = [node('a', 0), node('b', 1), node('c', 2), node('d', 3)] as const

describe('a snapshot of a queue', () => {
  it('adds the next node without a list while a node is watched', async () => {
    const { server, snapshot, local } = scene(A, B)
    expect(await snapshot.include(B)).toBe(true)
    expect(await snapshot.follow(local, [A])).toBe(true)
    server.names.push(C)
    expect(await snapshot.include(C)).toBe(true)
    expect(server.lists).toBe(1)
    expect(snapshot.queue.length).toBe(3)
  })

  it('is listed again when another process joined in between', async () => {
    const { server, snapshot, local } = scene(A, B)
    await snapshot.include(B)
    await snapshot.follow(local, [A])
    server.names.push(C, D)
    expect(await snapshot.include(D)).toBe(true)
    expect(server.lists).toBe(2)
    expect(snapshot.queue.find(C)).toBeDefined()
  })

  it('does not trust a number when the container may be another', async () => {
    const { server, snapshot } = scene(A)
    await snapshot.include(A)
    // All went, and others came to a new container, whose numbers begin anew.
    const stranger = node('stranger', 0)
    server.names = [stranger, B]
    expect(await snapshot.include(B)).toBe(true)
    expect(snapshot.queue.find(stranger)).toBeDefined()
    expect(snapshot.queue.find(A)).toBeUndefined()
  })

  it('wakes the followers of a node once when it goes', async () => {
    const { server, snapshot, local, woken } = scene(A, B)
    await snapshot.include(B)
    await snapshot.follow(local, [A])
    server.end(A, 'changed')
    expect(woken).toEqual(['woken'])
    expect(snapshot.queue.first?.nodes[0]?.name).toBe(B)
    expect(snapshot.isDoubtful).toBe(false)
  })

  it('goes on watching a remade node', async () => {
    const { server, snapshot, local, woken } = scene(A, B)
    await snapshot.include(B)
    await snapshot.follow(local, [A])
    server.tell(A, 'deleted')
    await settled()
    expect(woken).toEqual([])
    expect(snapshot.isArmed(A)).toBe(true)
    server.end(A, 'changed')
    expect(woken).toEqual(['woken'])
  })

  it.each([
    ['a writer', 'x', true],
    ['a reader', 's', false],
    ['a permit', 'p1-3', false],
  ])('is in doubt or not when %s is gone without a word', async (_, mode, doubtful) => {
    const first = node('a', 0, mode)
    const { server, snapshot, local, woken } = scene(first, B)
    await snapshot.include(B)
    await snapshot.follow(local, [first])
    server.end(first, 'deleted')
    await settled()
    expect(woken).toEqual(['woken'])
    expect(snapshot.isDoubtful).toBe(doubtful)
    await snapshot.list()
    expect(snapshot.isDoubtful).toBe(false)
  })

  it('is doubtful after the end of a claim of a named owner, even if we deleted it', async () => {
    const owned = '3,a,x,q,~workflow,,0000000000'
    const { snapshot } = scene(owned, B)
    await snapshot.include(B)
    snapshot.ended(owned)
    expect(snapshot.isDoubtful).toBe(true)
  })

  it.each([
    ['behind a writer', [A, B, C], ['a'], [B]],
    ['behind readers', [node('a', 0, 's'), node('b', 1, 's'), C, D], ['a'], [node('b', 1, 's'), C]],
    [
      'behind permits',
      [node('a', 0, 'p1-2'), node('b', 1, 'p1-2'), node('c', 2, 'p1-2')],
      ['a'],
      ['3,b,', '3,c,'],
    ],
    ['that is ours', [A, B, C], ['a', 'b'], []],
  ])('shows a waiter %s without a list while it is there', async (_, names, own, watched) => {
    const { server, snapshot, local, ours } = scene(...names)
    ours.push(...own)
    await snapshot.list()
    for (let round = 0; round < 3; round++) expect(await snapshot.learnContended(local)).toBe(true)
    expect(server.lists).toBe(1)
    for (const name of names)
      expect(snapshot.isArmed(name), name).toBe(watched.some((each) => name.includes(each)))
  })

  it('shows the next waiter when the first is gone, and is listed when none is left', async () => {
    const { server, snapshot, local, ours } = scene(A, B, C)
    ours.push('a')
    await snapshot.list()
    await snapshot.learnContended(local)
    server.end(B, 'deleted')
    await settled()
    expect(await snapshot.learnContended(local)).toBe(true)
    expect([server.lists, snapshot.isArmed(C)]).toEqual([1, true])
    server.end(C, 'deleted')
    await settled()
    expect(await snapshot.learnContended(local)).toBe(false)
    expect(server.lists).toBe(2)
  })

  it('is listed for arrivals by one holder, which notifies the others', async () => {
    const { server, snapshot } = scene(A, B)
    expect(await Promise.all([snapshot.watchArrivals(), snapshot.watchArrivals()])).toEqual([true, false])
    expect(await snapshot.watchArrivals()).toBe(false)
    expect(server.lists).toBe(1)
  })

  it('reports that a node to follow is gone already', async () => {
    const { server, snapshot, local } = scene(A, B)
    await snapshot.include(B)
    server.names = [B]
    expect(await snapshot.follow(local, [A])).toBe(false)
    expect(snapshot.queue.find(A)).toBeUndefined()
  })
})

const settled = () => new Promise((resolve) => setImmediate(resolve))
