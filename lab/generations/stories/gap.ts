import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerAddress } from '../environments.ts'
import type { Trial } from '../processes/scene.ts'
import { TTL_MS } from '../processes/scene.ts'

/** A is done and gives the key back, but is paused in the middle of that until its key has expired and is B's. */
export async function gap(scene: Trial, address: ServerAddress): Promise<void> {
  const [a, b, c] = await Promise.all([
    scene.cast('A', address, { workMs: TTL_MS * 0.4, standAt: 'seam' }),
    scene.cast('B', address, { workMs: TTL_MS * 0.9 }),
    scene.cast('C', address, { workMs: TTL_MS * 0.3 }),
  ])
  await scene.watch(address)
  scene.begin()
  a.send({ kind: 'start' })
  await a.said('took')
  b.send({ kind: 'start' })
  await a.said('stands')
  a.signal('SIGSTOP')
  scene.note('paused', 'A', 'is paused while it gives the key back')
  // It reads this when it wakes up.
  a.send({ kind: 'go' })
  await b.said('took', 'gaveUp')
  c.send({ kind: 'start' })
  await c.said('asked')
  await sleep(TTL_MS * 0.2)
  scene.note('woken', 'A', 'wakes up and goes on')
  a.signal('SIGCONT')
  await Promise.all([a.ended, b.ended, c.ended])
}
