import { clockMs } from '../clock.ts'
import { sleep } from '../lock-client.ts'
import { acquire, type Parts, sound } from './broken-lock.ts'
import type { Control } from './control.ts'
import { QUICK } from './stage.ts'

const { ttlMs } = QUICK

/** The locks that people write first, each with what the next one added. */
export const GENERATIONS: readonly Control[] = [
  {
    name: 'no ttl',
    lacks: 'generation 1, SETNX and DEL: nobody ends the hold of a process that died',
    flaggedBy: 'recovery',
    async play(stage) {
      const [one, other] = [stage.actor('a'), stage.actor('b')]
      const client = await stage.redis()
      const parts: Parts = {
        take: async () => ((await client.setnx(stage.key, 1)) === 1 ? 1n : null),
        free: () => client.del(stage.key),
      }
      // Never comes back from its work: it is dead.
      const dead = one.enter(
        () => acquire(parts),
        () => new Promise(() => {}),
      )
      await dead.inside
      stage.history.write({ f: 'crashed', worker: one.name })
      stage.fault('worker kill', 'a')
      const waitMs = ttlMs + QUICK.recoverySlackMs + 200
      await other.visit(
        () => acquire(parts, waitMs),
        async () => {},
        { waitMs },
      )
    },
  },
  {
    name: 'no identity',
    lacks: 'generation 2, a ttl but no owner: who is late lets go of what is no longer its own',
    flaggedBy: 'overlap',
    async play(stage) {
      const client = await stage.redis()
      const parts: Parts = {
        take: async () => ((await client.set(stage.key, '1', 'PX', ttlMs, 'NX')) === null ? null : 1n),
        free: () => client.del(stage.key),
      }
      const [one, other, third] = [stage.actor('a'), stage.actor('b'), stage.actor('c')]
      const late = one.enter(
        () => acquire(parts),
        () => sleep(ttlMs * 1.4),
      )
      await late.inside
      const next = other.enter(
        () => acquire(parts),
        () => sleep(ttlMs * 0.8),
      )
      await next.inside
      await late.left
      await third.visit(
        () => acquire(parts),
        () => sleep(50),
      )
      await next.left
    },
  },
  {
    name: 'no watchdog',
    lacks:
      'generation 3, an owner but no renewal: work that takes longer than the ttl goes on without the lock',
    flaggedBy: 'overlap',
    async play(stage) {
      const parts = { ...sound(await stage.redis(), stage.key), validUntilMs: () => clockMs() + 60_000 }
      const slow = stage.actor('a').enter(
        () => acquire(parts),
        () => sleep(ttlMs * 1.6),
      )
      await slow.inside
      await stage.actor('b').visit(
        () => acquire(parts),
        () => sleep(50),
      )
      await slow.left
    },
  },
  {
    name: 'blind delete',
    lacks: 'lets go of the key in a `finally` block, also when it was never had',
    flaggedBy: 'overlap',
    async play(stage) {
      const client = await stage.redis()
      const parts = sound(client, stage.key)
      const first = stage.actor('a').enter(
        () => acquire(parts),
        () => sleep(ttlMs * 0.8),
      )
      await first.inside
      const impatient = async () => {
        try {
          return await acquire(parts, 0)
        } finally {
          await client.del(stage.key)
        }
      }
      await stage.actor('b').visit(impatient, async () => {})
      await stage.actor('c').visit(
        () => acquire(parts),
        () => sleep(50),
      )
      await first.left
    },
  },
]
