import { connect, type Locks } from 'holdfast'
import { expect, it } from 'vitest'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'

const WAITERS = 14

it('a line that is long, where nobody is told, is served in its order', async () => {
  const server = await startMariadb()
  const all: Locks[] = []
  const open = async (): Promise<Locks> => {
    const locks = await connect(server.url, { ttl: '1m', wait: '1m' })
    all.push(locks)
    return locks
  }
  try {
    const first = await open()
    const lease = await first.acquire('key')
    const served: number[] = []
    const waits: Promise<unknown>[] = []
    for (let place = 0; place < WAITERS; place++) {
      const locks = await open()
      waits.push(locks.using('key', () => served.push(place)))
      await expect.poll(async () => (await first.read('key')).line.length, { interval: 5 }).toBe(place + 1)
    }
    await lease.release()
    await Promise.all(waits)
    // Whoever does not notice in time that the key was offered to it stands at the end of the line again.
    expect(served).toEqual(Array.from({ length: WAITERS }, (_, place) => place))
  } finally {
    await Promise.all(all.map((locks) => locks.close()))
    await server.stop()
  }
}, 60_000)
