import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { childCommand, teller } from '../../../src/cli/child.ts'
import { connect, createLocks, type Locks } from '../../../src/index.ts'
import { WireConnection } from '../wire/connection.ts'
import type { FromRacer, RaceOrder } from './messages.ts'

export const labRacer = childCommand<RaceOrder>('lab', race)

const tell = teller<FromRacer>()

async function race({ protection, url, fencedUrl, key, buyers, paymentMs }: RaceOrder): Promise<void> {
  const connection = await WireConnection.open(url)
  const locks = await locksFor(protection, fencedUrl)
  const units: number[] = []
  /** Read, think, write: what every check-then-act comes down to. */
  const sell = async (): Promise<boolean> => {
    const left = Number(await connection.call('GET', key))
    if (left <= 0) return false
    await sleep(paymentMs * (0.5 + Math.random()))
    await connection.call('SET', key, left - 1)
    units.push(left)
    return true
  }
  const serve = async (): Promise<void> => {
    for (;;) {
      const sold = locks === null ? await sell() : await locks.using(key, { ttl: '2s', wait: '30s' }, sell)
      if (!sold) return
    }
  }
  try {
    tell({ kind: 'ready' })
    await once(process, 'message')
    await Promise.all(Array.from({ length: buyers }, serve))
    tell({ kind: 'done', units })
  } finally {
    await locks?.close()
    connection.close()
  }
}

/** A lock of this process alone is what a mutex of a language is: the other processes do not see it. */
async function locksFor(protection: RaceOrder['protection'], fencedUrl: string): Promise<Locks | null> {
  if (protection === 'none') return null
  return protection === 'local' ? createLocks() : await connect(fencedUrl)
}
