import { loadBinding } from '../../../src/stores/sqlite/binding.ts'
import { sleep } from '../lock-client.ts'
import { acquire, type Parts, sound } from './broken-lock.ts'
import type { Control } from './control.ts'
import { QUICK } from './stage.ts'

const { ttlMs } = QUICK

/** Locks that read the wrong clock, or read it at the wrong time. */
export const CLOCKS: readonly Control[] = [
  {
    name: 'validity from the reply',
    lacks: 'counts its time from the answer, which may have been long on its way',
    flaggedBy: 'overlap',
    async play(stage) {
      const proxy = await stage.proxy()
      const far = await stage.redis(proxy.port)
      const near = sound(await stage.redis(), stage.key)
      const parts: Parts = {
        ...sound(far, stage.key),
        take: async (id) => ((await far.set(stage.key, id, 'PX', ttlMs, 'NX')) === null ? null : 1n),
        validUntilMs: (_, answeredMs) => answeredMs + ttlMs,
      }
      proxy.hold('replies')
      const slow = stage.actor('a').visit(
        () => acquire(parts),
        () => sleep(ttlMs * 0.9),
      )
      await sleep(ttlMs * 0.7)
      proxy.heal()
      await stage.actor('b').visit(
        () => acquire(near),
        () => sleep(50),
      )
      await slow
    },
  },
  {
    name: 'client clock in SQL',
    lacks: 'writes the end of a hold by the clock of whoever asks, and theirs do not agree',
    flaggedBy: 'overlap',
    async play(stage) {
      const database = new (loadBinding().DatabaseSync)(':memory:')
      database.exec('CREATE TABLE locks (key TEXT PRIMARY KEY, owner TEXT, ends INTEGER)')
      const take = database.prepare(
        'INSERT INTO locks VALUES (?1, ?2, ?3) ON CONFLICT (key) DO UPDATE SET owner = ?2, ends = ?3 WHERE ends < ?4',
      )
      const free = database.prepare('DELETE FROM locks WHERE key = ? AND owner = ?')
      const by = (skewMs: number): Parts => ({
        async take(id) {
          const nowMs = Date.now() + skewMs
          return Number(take.run(stage.key, id, nowMs + ttlMs, nowMs).changes) === 1 ? 1n : null
        },
        free: async (id) => free.run(stage.key, id),
      })
      const first = stage.actor('a').enter(
        () => acquire(by(0)),
        () => sleep(ttlMs * 0.8),
      )
      await first.inside
      // A machine whose clock is ten seconds ahead.
      await stage.actor('b').visit(
        () => acquire(by(10_000)),
        () => sleep(50),
      )
      await first.left
      database.close()
    },
  },
]
