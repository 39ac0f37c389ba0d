import type { ServerAddress } from '../environments.ts'
import type { Trial } from '../processes/scene.ts'
import { TTL_MS } from '../processes/scene.ts'

/** A works for longer than the ttl. B comes next, and C after B. */
export async function slow(scene: Trial, address: ServerAddress): Promise<void> {
  const [a, b, c] = await Promise.all([
    scene.cast('A', address, { workMs: TTL_MS * 1.6 }),
    scene.cast('B', address, { workMs: TTL_MS * 0.9 }),
    scene.cast('C', address, { workMs: TTL_MS * 0.3 }),
  ])
  await scene.watch(address)
  scene.begin()
  a.send({ kind: 'start' })
  await a.said('took')
  b.send({ kind: 'start' })
  await b.said('took', 'gaveUp')
  c.send({ kind: 'start' })
  await Promise.all([a.ended, b.ended, c.ended])
}
