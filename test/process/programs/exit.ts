import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { ClosedError, createLocks, LeaseLostError, type Locks, LockTimeoutError } from 'holdfast'
import { memory } from 'holdfast/memory'
import { sqlite } from 'holdfast/sqlite'

type Scene = (locks: Locks) => Promise<unknown>

/** Programs of a few lines. Each comes to its end without an error, and without a word about ending. */
const SCENES: Record<string, Scene> = {
  async uses(locks) {
    await locks.using('key', () => 1)
    await locks.close()
  },

  async forgetsToClose(locks) {
    await locks.using('key', () => 1)
  },

  async forgetsToRelease(locks) {
    await locks.acquire('key')
    await locks.rw('book').read.acquire()
    await locks.semaphore('pool', { limit: 2 }).acquire()
    await locks.all(['a', 'b'])
  },

  async waits(locks) {
    const first = await locks.acquire('key')
    const second = locks.acquire('key')
    await first.release()
    await (await second).release()
  },

  async timesOut(locks) {
    await locks.acquire('key')
    await rejects(locks.acquire('key', { wait: 30 }), LockTimeoutError)
    await rejects(locks.rw('key').read.acquire({ wait: 30 }), LockTimeoutError)
  },

  async losesALease(locks) {
    const lease = await locks.acquire('key', { ttl: 40, renew: false })
    // The deadline of a lease does not keep a program alive; this does.
    await Promise.all([once(lease.signal, 'abort'), sleep(80)])
    expectThat(lease.signal.reason instanceof LeaseLostError, 'the signal tells of the loss')
    expectThat(!lease.held, 'a lost lease is not held')
  },

  async losesALeaseUnseen(locks) {
    await locks.acquire('key', { ttl: 40, renew: false })
    await rejects(
      locks.using('other', { ttl: 40, renew: false }, () => sleep(80)),
      LeaseLostError,
    )
  },

  async abortsAWaiter(locks) {
    await locks.acquire('key')
    const reason = new Error('no longer wanted')
    const controller = new AbortController()
    const waiting = locks.acquire('key', { signal: controller.signal, wait: '1h' })
    setTimeout(() => controller.abort(reason), 30)
    await waiting.then(unexpected, (error) => expectThat(error === reason, 'the reason comes back'))
  },

  async closesOverWaiters(locks) {
    await locks.acquire('key')
    const waiting = locks.acquire('key', { wait: '1h' })
    await Promise.all([rejects(waiting, ClosedError), locks.close()])
  },

  async failsInItsWork(locks) {
    const failure = new Error('work failed')
    const work = locks.using('key', () => Promise.reject(failure))
    await work.then(unexpected, (error) => expectThat(error === failure, "the work's own error comes back"))
  },

  async keepsALeaseForLong(locks) {
    const lease = await locks.acquire('key', { ttl: 60 })
    await sleep(200)
    expectThat(lease.held, 'the lease was renewed')
  },
}

const [, , store, scene = '', database = ''] = process.argv
await (SCENES[scene] as Scene)(createLocks({ store: store === 'sqlite' ? sqlite(database) : memory() }))
console.log('done')

async function rejects(promise: Promise<unknown>, kind: new (...parameters: never) => Error): Promise<void> {
  await promise.then(unexpected, (error) => expectThat(error instanceof kind, `${error} is a ${kind.name}`))
}

function unexpected(): never {
  throw new Error('a rejection was expected')
}

function expectThat(is: boolean, what: string): void {
  if (!is) throw new Error(`not so: ${what}`)
}
