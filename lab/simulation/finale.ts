import type { Fiber } from './fiber.ts'
import type { Ask, Take } from './plan.ts'

/** The keys of every plan. */
export const KEYS = { hot: 'hot', warm: 'warm', cold: 'cold', book: 'book', pool: 'pool' } as const
export const POOL_LIMIT = 3

export const FINAL: Omit<Take, 'key' | 'ask'> = {
  kind: 'take',
  thinkMs: 0,
  way: 'acquire',
  ttlMs: 1000,
  waitMs: null,
  holdMs: 20,
  renew: true,
  maxHoldMs: null,
  spinMs: null,
  background: false,
  owner: null,
  cancelAfterMs: null,
  obeys: true,
  writes: 1,
  twist: { kind: 'none' },
}

/**
 * After the healing: every fiber takes every kind of lock once more and must get it in time. On the read-write lock
 * all but one come as readers, again and again, until the one writer was served.
 */
export async function finale(fiber: Fiber, index: number): Promise<void> {
  const { simulation } = fiber
  await serve(fiber, KEYS.hot, { kind: 'mutex' })
  await serve(fiber, KEYS.pool, { kind: 'permits', limit: POOL_LIMIT, weight: 1 + (index % POOL_LIMIT) })
  if (fiber.client === simulation.writer && index === 0) {
    await fiber.host.sleep(60)
    await serve(fiber, KEYS.book, { kind: 'write' })
    simulation.writerServed = true
    return
  }
  while (!simulation.writerServed && simulation.leftMs > 0) {
    await fiber.take({
      ...FINAL,
      key: KEYS.book,
      ask: { kind: 'read' },
      waitMs: simulation.leftMs,
      writes: 0,
    })
  }
}

/** Tries again when the locks were just being closed; gives up when the time since the healing is over. */
async function serve(fiber: Fiber, key: string, ask: Ask): Promise<void> {
  const { simulation } = fiber
  while (simulation.leftMs > 0) {
    if (await fiber.take({ ...FINAL, key, ask, waitMs: simulation.leftMs })) return
    await fiber.host.sleep(50)
  }
  simulation.fail('not served', `${fiber.name}: ${ask.kind} ${key} was not had in time after the healing`)
}
