import type { Trial } from '../processes/scene.ts'
import { TTL_MS } from '../processes/scene.ts'
import type { Pair } from '../servers/pair.ts'

/** The primary answers A and dies before its replica has heard of it; B asks the replica, which is the primary now. */
export async function failover(scene: Trial, pair: Pair): Promise<void> {
  const [a, b] = await Promise.all([
    scene.cast('A', pair.primary, { workMs: TTL_MS * 0.2, standAt: 'work', afterMs: TTL_MS * 0.5 }),
    scene.cast('B', pair.replica, { workMs: TTL_MS * 0.9 }),
  ])
  await scene.watch(pair.primary, 'key, primary')
  await scene.watch(pair.replica, 'key, replica')
  pair.stall()
  scene.begin()
  a.send({ kind: 'start' })
  await a.said('stands')
  await pair.crash()
  scene.note('serverDied', '', 'the primary is killed; its replica has not heard of the key')
  await pair.promote()
  scene.note('promoted', '', 'the replica is the primary now')
  b.send({ kind: 'start' })
  await b.said('took', 'gaveUp')
  a.send({ kind: 'go' })
  await Promise.all([a.ended, b.ended])
}
