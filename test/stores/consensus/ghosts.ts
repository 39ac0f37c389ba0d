import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { connect, type Locks, type LocksOptions } from 'holdfast'
import { describe, expect, it } from 'vitest'
import { startProxy, type TcpProxy } from '../../../scripts/servers/proxy.ts'
import type { World } from './world.ts'

/** So long that nothing below can end by its ttl. */
const TTL_MS = 30_000
const SOON = { timeout: 10_000, interval: 20 }

/** A claim that was carried out, and whose answer was lost. */
export function leaveNoGhosts(worldOf: () => World): void {
  describe('an answer that is lost', () => {
    it('leaves nothing behind of a claim that nobody waits for any more', () =>
      apart(worldOf(), async ({ locks, other, proxy }) => {
        for (let round = 0; round < 3; round++) {
          const key = `ghost ${round}`
          await locks.using('warm', () => {})
          proxy.drop('replies')
          const asked = locks.acquire(key, { wait: 0 }).catch((error: unknown) => error)
          await expect.poll(() => presentAt(other, key), SOON).toBe(1)
          proxy.heal()
          const outcome = await asked
          // A claim that was told of a failure has nothing; one that was told of a grant can give it back.
          if (!(outcome instanceof Error)) await (outcome as Awaited<ReturnType<Locks['acquire']>>).release()
          else expect(outcome).toMatchObject({ code: 'STORE_UNAVAILABLE' })
          await expect.poll(() => presentAt(other, key), SOON).toBe(0)
          await other.using(key, { wait: 0 }, () => {})
        }
      }))

    it('leaves nothing behind of the first claim of all, which needs more than itself', () =>
      apart(worldOf(), async ({ locks, proxy }) => {
        const { requests } = proxy.passed
        proxy.drop('replies')
        const asked = locks.acquire('first', { wait: 0 }).catch((error: unknown) => error)
        await expect.poll(() => proxy.passed.requests, SOON).toBeGreaterThan(requests)
        proxy.heal()
        await asked
      }))

    it('does not double the position of a claim that goes on waiting', () =>
      apart(worldOf(), async ({ locks, other, proxy }) => {
        const held = await other.acquire('line')
        await locks.using('warm', () => {})
        // Its other traffic would be counted as an answer to the claim.
        await expect.poll(() => proxy.connections, SOON).toBe(worldOf().connections)
        const answered = proxy.passed.replies + worldOf().answersBeforeLine
        const acquired = locks.acquire('line', { wait: 20_000 })
        acquired.catch(() => {})
        while (proxy.passed.replies < answered) await turn()
        proxy.drop('replies')
        await expect.poll(() => presentAt(other, 'line'), SOON).toBe(2)
        proxy.heal()
        await locks.using('meanwhile', () => {})
        expect(await presentAt(other, 'line')).toBe(2)
        await held.release()
        const lease = await acquired
        expect(lease.token).toBeGreaterThan(held.token as bigint)
        expect(await presentAt(other, 'line')).toBe(1)
        await lease.release()
        expect(await presentAt(other, 'line')).toBe(0)
      }))

    it('takes nothing away from the same claim when that is made anew after its ttl', () => {
      const ttl = 1500
      return apart(
        worldOf(),
        async ({ locks, other, proxy }) => {
          await locks.using('warm', () => {})
          proxy.drop('requests')
          const acquired = locks.acquire('late', { wait: 20_000, renew: false })
          await sleep(200)
          proxy.cut()
          await sleep(ttl - 100)
          proxy.heal()
          const lease = await acquired
          // By then, what was left to do about the first claim is done.
          await locks.using('afterwards', () => {})
          await sleep(200)
          expect(await presentAt(other, 'late')).toBe(1)
          expect(await lease.release()).toBe('released')
        },
        { ttl, callTimeout: 1000 },
      )
    })
  })
}

interface Parties {
  /** Whose connection goes through the proxy. */
  readonly locks: Locks
  readonly other: Locks
  readonly proxy: TcpProxy
}

async function apart(
  world: World,
  play: (parties: Parties) => Promise<void>,
  options: LocksOptions = {},
): Promise<void> {
  const proxy = await startProxy(world.ports[0] as number)
  const locks = await connect(world.urlBy(proxy.port), { ttl: TTL_MS, ...options })
  const other = await connect(world.url, { ttl: TTL_MS })
  try {
    await play({ locks, other, proxy })
  } finally {
    proxy.heal()
    await locks.close()
    await other.close()
    await proxy.close()
  }
  await expect.poll(() => world.leftovers(), SOON).toBe(0)
}

async function presentAt(locks: Locks, key: string): Promise<number> {
  const { holders, queue } = await locks.read(key)
  return holders.length + queue.length
}
