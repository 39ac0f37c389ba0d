import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type Locks } from 'holdfast'
import { afterAll, describe, expect, it } from 'vitest'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'

const [postgres, mariadb] = await Promise.all([
  startPostgres({ settings: ['max_connections=100'] }),
  startMariadb(),
])
afterAll(() => Promise.all([postgres.stop(), mariadb.stop()]))

/** All wait behind one holder, who lets go when everybody has joined. Resolves to how many are served a second. */
async function serve(url: string, count: number): Promise<number> {
  const all: Locks[] = []
  try {
    for (let place = 0; place < count; place++) all.push(await connect(url, { wait: '1m' }))
    const key = `crowd of ${count}`
    const first = await (all[0] as Locks).acquire(key)
    const tokens: bigint[] = []
    const work = all.slice(1).map((locks) =>
      locks.using(key, async (lease) => {
        tokens.push(lease.token as bigint)
        await sleep(1)
      }),
    )
    await expect
      .poll(async () => (await (all[0] as Locks).read(key)).line.length, { timeout: 30_000 })
      .toBe(count - 1)
    const startedMs = performance.now()
    await first.release()
    await Promise.all(work)
    expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)))
    return ((count - 1) * 1000) / (performance.now() - startedMs)
  } finally {
    await Promise.all(all.map((locks) => locks.close()))
  }
}

describe.each([
  ['PostgreSQL', () => postgres.url],
  ['MariaDB', () => mariadb.url],
])('%s, with the connections that a server takes by default', (name, url) => {
  it('serves 200 Locks that wait for one key', async () => {
    const few = await serve(url(), 10)
    const many = await serve(url(), 200)
    console.log(`${name}: ${few.toFixed(0)} a second of 10, ${many.toFixed(0)} of 200`)
    expect(many).toBeGreaterThan(few / 4)
  }, 120_000)
})
