import { setTimeout as sleep } from 'node:timers/promises'
import type { Locks } from '../../../src/index.ts'
import { handMade } from '../locks/index.ts'
import type { WireConnection } from '../wire/connection.ts'

export interface Worker {
  readonly connection: WireConnection
  readonly locks: Locks | null
  readonly key: string
}

/** A way to add one to a number that others change as well. */
export interface Method {
  readonly name: string
  /** True if it needs the locks of this package. */
  readonly locks: boolean
  /** How many scripts a success takes that never has to wait; what is sent beyond that is wasted. Null where tries are counted. */
  readonly scripts: number | null
  /** Adds one, however often it has to begin again; returns how many tries came to nothing. */
  update(worker: Worker): Promise<number>
}

const THINKING_MS = 2
const LOCK_MS = 5_000
export const ADD_ONE = "return redis.call('SET', KEYS[1], redis.call('GET', KEYS[1]) + 1)"

const watch: Method = {
  name: 'WATCH',
  locks: false,
  scripts: null,
  async update({ connection, key }) {
    for (let wasted = 0; ; wasted++) {
      await connection.call('WATCH', key)
      const value = Number(await connection.call('GET', key))
      await sleep(THINKING_MS)
      await connection.call('MULTI')
      await connection.call('SET', key, value + 1)
      // Nil: another has written to the key since it was watched, and nothing was done.
      if ((await connection.call('EXEC')) !== null) return wasted
    }
  },
}

const setNx: Method = {
  name: 'SET NX',
  locks: false,
  scripts: null,
  async update(worker) {
    const { connection, key } = worker
    let asked = 0
    const counting = {
      call: (...words: readonly (string | number)[]) => {
        if (words[0] === 'SET') asked++
        return connection.call(...words)
      },
    }
    const grant = await handMade('third', counting).acquire(`${key}:lock`, LOCK_MS, LOCK_MS)
    if (grant === null) throw new Error('the lock was not to be had')
    await readThinkWrite(worker)
    await grant.held.release()
    return asked - 1
  },
}

const holdfast: Method = {
  name: 'Holdfast',
  locks: true,
  // One to claim and one to release.
  scripts: 2,
  async update(worker) {
    await worker.locks!.using(worker.key, { ttl: LOCK_MS, wait: LOCK_MS }, () => readThinkWrite(worker))
    return 0
  },
}

const script: Method = {
  name: 'script',
  locks: false,
  scripts: null,
  async update({ connection, key }) {
    await connection.call('EVAL', ADD_ONE, 1, key)
    return 0
  },
}

export const METHODS: readonly Method[] = [watch, setNx, holdfast, script]

async function readThinkWrite({ connection, key }: Worker): Promise<void> {
  const value = Number(await connection.call('GET', key))
  await sleep(THINKING_MS)
  await connection.call('SET', key, value + 1)
}
