import type { ServerAddress } from '../environments.ts'
import type { Trial } from '../processes/scene.ts'

/** A dies with the key in its hands; B waits for it. */
export async function crash(scene: Trial, address: ServerAddress): Promise<void> {
  const standAt = scene.generation === 'twoStep' ? 'seam' : 'work'
  const [a, b] = await Promise.all([
    scene.cast('A', address, { standAt, workMs: 150 }),
    scene.cast('B', address, { workMs: 100 }),
  ])
  await scene.watch(address)
  scene.begin()
  a.send({ kind: 'start' })
  await a.said('took', 'stands')
  b.send({ kind: 'start' })
  await Promise.all([b.said('asked'), a.said('stands')])
  a.signal('SIGKILL')
  scene.note('killed', 'A', 'is killed with the key in its hands')
  await b.ended
}
