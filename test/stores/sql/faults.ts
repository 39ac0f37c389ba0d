import { connect, createLocks, type Locks, type Store } from 'holdfast'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { Bundle } from '../../../bench/bundle.ts'
import { Program } from '../../process/support/program.ts'
import { Overlaps, sleep, Workers } from '../redis/load.ts'

const TTL_MS = 1000
/** A lease that was lost with its connection ends with its ttl; a server that was killed repairs its files first. */
const RECOVERY_MS = TTL_MS + 6000
const LOOPER = new URL('./programs/looper.ts', import.meta.url)

/** A database server, and what its operator can do to it. */
export interface Harness {
  readonly url: string
  open(client: string): Promise<Store>
  /** Ends connections of stores, each with that chance. */
  cut(chance: number): Promise<void>
  /** How many connections of stores there are. */
  connections(): Promise<number>
  kill(): Promise<void>
  /** Asks the server to end, and waits until it has. */
  shutDown(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

/** The faults that a store must survive on every database; `most` is the number of connections that a store may have. */
export function survive(clients: readonly string[], most: number, begin: () => Promise<Harness>): void {
  let harness: Harness
  let bundle: Bundle
  let opened: Locks[] = []
  const rejections: unknown[] = []
  const onRejection = (reason: unknown) => rejections.push(reason)

  beforeAll(async () => {
    bundle = await Bundle.of(LOOPER)
    harness = await begin()
  })
  afterAll(async () => {
    await harness.close()
    await bundle.remove()
  })
  beforeEach(() => {
    rejections.length = 0
    process.on('unhandledRejection', onRejection)
  })
  afterEach(async () => {
    await Promise.all(opened.map((locks) => locks.close()))
    opened = []
    process.off('unhandledRejection', onRejection)
    expect(rejections).toEqual([])
    await expect.poll(() => harness.connections(), { timeout: 5000 }).toBe(0)
  })

  async function open(client: string): Promise<Locks> {
    const store = await harness.open(client)
    const locks = createLocks({ store, ttl: TTL_MS, wait: 20_000, callTimeout: 500 })
    opened.push(locks)
    return locks
  }

  /** Three processes with two workers each on one key, and one worker each on a key of its own. */
  async function startWorkers(client: string): Promise<Workers> {
    const workers = new Workers(new Overlaps())
    for (let process = 0; process < 3; process++) {
      const locks = await open(client)
      workers.start(locks, 'shared by all')
      workers.start(locks, 'shared by all')
      workers.start(locks, `alone ${process}`)
    }
    await workers.recover(RECOVERY_MS)
    return workers
  }

  for (const client of clients) {
    it(`${client}: goes on when connections are cut at random under load, and leaks none`, async () => {
      const workers = await startWorkers(client)
      for (let round = 0; round < 8; round++) {
        await sleep(100)
        await harness.cut(0.5)
      }
      await workers.recover(RECOVERY_MS)
      expect(await harness.connections()).toBeLessThanOrEqual(3 * most)
      await workers.end()
    })

    it(`${client}: goes on when the server is killed and started again under load`, async () => {
      const workers = await startWorkers(client)
      await sleep(200)
      await harness.kill()
      await sleep(200)
      await harness.start()
      await workers.recover(RECOVERY_MS)
      await workers.end()
    })

    it(`${client}: goes on when the server is restarted under load`, async () => {
      const workers = await startWorkers(client)
      await sleep(200)
      await harness.shutDown()
      await harness.start()
      await workers.recover(RECOVERY_MS)
      await workers.end()
    })
  }

  it('keeps a lease, its token and its queue through a crash of the server', async () => {
    const [locks, other] = [await open(clients[0] as string), await open(clients.at(-1) as string)]
    const lease = await locks.acquire('kept', { ttl: 8000 })
    const acquired = other.acquire('kept', { wait: 20_000, ttl: 8000 })
    await expect.poll(async () => (await locks.read('kept')).queue.length, { timeout: 5000 }).toBe(1)
    await harness.kill()
    await harness.start()
    const token = async () => (await locks.read('kept').catch(() => null))?.token
    await expect.poll(token, { timeout: 5000 }).toBe(lease.token)
    expect(lease.held).toBe(true)
    await lease.release()
    expect((await acquired).token).toBeGreaterThan(lease.token as bigint)
  })

  it('grants no key twice and blocks no waiter when a process stalls beyond its ttl, at any moment', async () => {
    const locks = await connect(harness.url, { ttl: TTL_MS, label: 'parent' })
    opened.push(locks)
    const program = new Program(bundle.path(LOOPER), [harness.url, String(TTL_MS)])
    const heard: bigint[] = []
    program.child.on('message', (atNs: string) => heard.push(BigInt(atNs)))
    try {
      for (let round = 0; round < 6; round++) {
        const before = heard.length
        await expect.poll(() => heard.length, { timeout: 10_000 }).toBeGreaterThan(before)
        await sleep(Math.random() * 20)
        program.child.kill('SIGSTOP')
        const lease = await locks.acquire('looped', { wait: TTL_MS + 3000 })
        const heldAtNs = process.hrtime.bigint()
        program.child.kill('SIGCONT')
        await sleep(100)
        expect(
          heard.filter((atNs) => atNs > heldAtNs),
          'nobody else is inside',
        ).toEqual([])
        await lease.release()
      }
    } finally {
      program.abandon()
    }
  })
}
