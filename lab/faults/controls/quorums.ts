import type { Redis } from 'ioredis'
import { sleep } from '../lock-client.ts'
import { acquire, type Parts } from './broken-lock.ts'
import type { Control } from './control.ts'
import { QUICK } from './stage.ts'

const NODES = 3
const LONG_MS = 60_000

/** Votes of several servers, kept apart by their names in one. */
function votes(client: Redis, key: string, ttlMs: number) {
  const nameOf = (node: number): string => `node ${node} ${key}`
  return {
    async ask(id: string, from = 0): Promise<number> {
      let granted = 0
      for (let node = from; node < NODES; node++)
        if ((await client.set(nameOf(node), id, 'PX', ttlMs, 'NX')) !== null) granted++
      return granted
    },
    async giveBack(id: string): Promise<void> {
      for (let node = 0; node < NODES; node++)
        if ((await client.get(nameOf(node))) === id) await client.del(nameOf(node))
    },
  }
}

/** Locks that break when several servers vote. */
export const QUORUMS: readonly Control[] = [
  {
    name: 'no rollback',
    lacks: 'leaves the votes of a minority where they are',
    flaggedBy: 'leftovers',
    async play(stage) {
      const { ask, giveBack } = votes(await stage.redis(), stage.key, LONG_MS)
      const parts = (from: number): Parts => ({
        take: async (id) => ((await ask(id, from)) > NODES / 2 ? 1n : null),
        free: giveBack,
      })
      // The last server alone hears the first who comes, and keeps its vote.
      await stage.actor('a').visit(
        () => acquire(parts(NODES - 1), 0),
        async () => {},
      )
      await stage.actor('b').visit(
        () => acquire(parts(0)),
        () => sleep(20),
      )
      await stage.sweep()
    },
  },
  {
    name: 'naive tokens',
    lacks: 'takes its token from the counter of whichever server it reaches, and each counts by itself',
    flaggedBy: 'tokens',
    async play(stage) {
      const client = await stage.redis()
      const { ask, giveBack } = votes(client, stage.key, QUICK.ttlMs)
      const by = (node: number): Parts => ({
        async take(id) {
          if ((await ask(id)) <= NODES / 2) return null
          return BigInt(await client.incr(`counter ${node} of ${stage.key}`))
        },
        free: giveBack,
      })
      for (const [name, node] of [
        ['a', 0],
        ['b', 0],
        ['c', 1],
      ] as const)
        await stage.actor(name).visit(
          () => acquire(by(node)),
          () => sleep(10),
        )
    },
  },
]
