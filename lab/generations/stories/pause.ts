import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerAddress } from '../environments.ts'
import type { Trial } from '../processes/scene.ts'
import { TTL_MS } from '../processes/scene.ts'

/** A is paused in the middle of its work until its key has expired and is B's, and then goes on as if nothing had been. */
export async function pause(scene: Trial, address: ServerAddress): Promise<void> {
  const [a, b] = await Promise.all([
    scene.cast('A', address, { workMs: TTL_MS * 0.2, standAt: 'work', afterMs: TTL_MS * 0.3 }),
    scene.cast('B', address, { workMs: TTL_MS * 0.9 }),
  ])
  await scene.watch(address)
  scene.begin()
  a.send({ kind: 'start' })
  await a.said('took')
  b.send({ kind: 'start' })
  await a.said('stands')
  a.signal('SIGSTOP')
  scene.note('paused', 'A', 'is paused in the middle of its work')
  // It reads this when it wakes up.
  a.send({ kind: 'go' })
  await b.said('took', 'gaveUp')
  await sleep(TTL_MS * 0.2)
  scene.note('woken', 'A', 'wakes up and goes on as if no time had passed')
  a.signal('SIGCONT')
  await Promise.all([a.ended, b.ended])
}
