import { clockMs } from '../clock.ts'
import { sleep } from '../lock-client.ts'
import { acquire, type Parts, sound } from './broken-lock.ts'
import type { Control } from './control.ts'
import { QUICK } from './stage.ts'

/** Locks that do not protect what they are for. */
export const RESOURCES: readonly Control[] = [
  {
    name: 'no fence',
    lacks: 'the resource does not look at tokens, and takes the write of somebody who is late',
    flaggedBy: 'stale write',
    async play(stage) {
      const witness = stage.witness(false)
      const parts = sound(await stage.redis(), stage.key)
      const write = (op: string, token: string): Promise<void> => {
        witness.access({ number: 0, op, key: stage.key, token, value: 0 })
        return sleep(10)
      }
      const late = stage.actor('a').enter(
        () => acquire(parts),
        async (op, token) => {
          await write(op, token)
          await sleep(QUICK.ttlMs * 1.5)
          await write(op, token)
        },
      )
      await late.inside
      await stage.actor('b').visit(() => acquire(parts), write)
      await late.left
    },
  },
  {
    name: 'permits counted by clients',
    lacks: 'reads how many are inside and writes one more, and another does the same in between',
    flaggedBy: 'overlap',
    async play(stage) {
      const client = await stage.redis()
      const parts: Parts = {
        async take() {
          const inside = Number((await client.get(stage.key)) ?? 0)
          if (inside >= 3) return null
          await sleep(5)
          await client.set(stage.key, inside + 1)
          return 1n
        },
        free: () => client.decr(stage.key),
      }
      const names = ['a', 'b', 'c', 'd', 'e']
      await Promise.all(
        names.map((name) =>
          stage.actor(name).visit(
            () => acquire(parts),
            () => sleep(50),
            { mode: 'permits' },
          ),
        ),
      )
    },
  },
  {
    name: 'a permit that nobody has',
    lacks:
      'keeps a permit whose answer came after its caller had given up; there are others for everybody else',
    flaggedBy: 'ghost',
    async play(stage) {
      const client = await stage.redis()
      const parts: Parts = {
        async take(id) {
          if ((await client.hlen(stage.key)) >= 3) return null
          const token = 256n * BigInt(await client.incr(`tokens of ${stage.key}`))
          await client.hset(stage.key, id, String(token))
          return token
        },
        free: (id) => client.hdel(stage.key, id),
      }
      const sinceMs = clockMs()
      const givenUp = async () => {
        await acquire(parts)
        return null
      }
      await stage.actor('a').visit(givenUp, async () => {}, { mode: 'permits' })
      const other = stage.actor('b')
      while (clockMs() < sinceMs + QUICK.ttlMs + QUICK.recoverySlackMs + 200)
        await other.visit(
          () => acquire(parts),
          () => sleep(20),
          { mode: 'permits' },
        )
      for (const token of await client.hvals(stage.key)) stage.names('a', token, clockMs() - sinceMs)
    },
  },
]
