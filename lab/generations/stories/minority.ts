import { setTimeout as sleep } from 'node:timers/promises'
import { type Trial, TTL_MS } from '../processes/scene.ts'
import type { Trio } from '../servers/trio.ts'

/** A has the lock of a majority of three servers when one of them is killed; B asks those that are left. */
export async function minority(scene: Trial, trio: Trio): Promise<void> {
  const [a, b] = await Promise.all([
    scene.cast('A', trio.address, { workMs: TTL_MS * 1.6 }),
    scene.cast('B', trio.address, { workMs: TTL_MS * 0.4 }),
  ])
  await scene.watch(trio.address)
  scene.begin()
  a.send({ kind: 'start' })
  await a.said('took', 'gaveUp')
  await sleep(TTL_MS * 0.2)
  await trio.crashOne()
  scene.note('serverDied', '', 'one of the three servers is killed')
  b.send({ kind: 'start' })
  await Promise.all([a.ended, b.ended])
}
