import { PERMITS, TTL_MS, WAIT_MS } from '../settings.ts'
import { again, type Kit, stayMs, type Workload } from './kit.ts'

const wait = WAIT_MS

/** One at a time. */
export const exclusive: Workload = (kit) => {
  const { client, locks, random } = kit
  const claim = { key: 'exclusive', mode: 'exclusive', waitMs: wait, handover: false } as const
  return again(kit, () =>
    client.visit(
      claim,
      () => locks.acquire(claim.key, { wait }),
      async (stay) => {
        await stay.forMs(stayMs(random, TTL_MS))
      },
    ),
  )
}

/** Readers together, a writer alone. */
export const shared: Workload = (kit) => {
  const { client, locks, random } = kit
  const { read, write } = locks.rw('shared')
  return again(kit, () => {
    const writes = random.chance(300)
    const mode = writes ? 'exclusive' : 'shared'
    return client.visit(
      { key: 'shared', mode, waitMs: wait, handover: true },
      () => (writes ? write : read).acquire({ wait }),
      async (stay) => {
        await stay.forMs(stayMs(random, TTL_MS))
      },
    )
  })
}

/** So many at a time, some of them for two. */
export const permits: Workload = (kit) => {
  const { client, locks, random } = kit
  const semaphore = locks.semaphore('permits', { limit: PERMITS })
  return again(kit, () => {
    const weight = random.whole(1, 2)
    return client.visit(
      { key: 'permits', mode: 'permits', weight, waitMs: wait, handover: true },
      () => semaphore.acquire({ weight, wait }),
      async (stay) => {
        await stay.forMs(stayMs(random, TTL_MS))
      },
    )
  })
}

/** Two of each process want the same key, and hand it to each other. */
export const handOver: Workload = async (kit) => {
  await Promise.all([handOverOnce(kit), handOverOnce(kit)])
}

function handOverOnce(kit: Kit): Promise<void> {
  const { client, handing, random } = kit
  const claim = { key: 'hand-over', mode: 'exclusive', waitMs: wait, handover: true } as const
  return again(kit, () =>
    client.visit(
      claim,
      () => handing.acquire(claim.key, { wait }),
      async (stay) => {
        await stay.forMs(random.whole(5, 25))
      },
    ),
  )
}
