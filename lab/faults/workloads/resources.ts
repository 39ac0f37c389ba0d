import { sleep } from '../lock-client.ts'
import { TTL_MS, WAIT_MS } from '../settings.ts'
import { again, type Workload } from './kit.ts'

const wait = WAIT_MS

/** Writes to a register without a look at the lease, as somebody does who was stopped right after it. */
export const register: Workload = (kit) => {
  const { client, locks, resource, random } = kit
  const claim = { key: 'register', mode: 'exclusive', waitMs: wait, handover: false } as const
  return again(kit, () => {
    // Now and then somebody lets its lease run out and writes all the same.
    const reckless = random.chance(15)
    return client.visit(
      claim,
      () => locks.acquire(claim.key, { wait, renew: !reckless }),
      async (stay) => {
        const write = () => resource.access({ op: stay.op, key: claim.key, token: stay.token, value: 0 })
        await write()
        if (reckless) await sleep(TTL_MS + random.whole(100, 600))
        else await stay.forMs(random.whole(10, 50))
        await write()
      },
    )
  })
}

/** Read, work, write one less: what a lock is for. Also the read shows its token, or an old write could come after it. */
export const stock: Workload = (kit) => {
  const { client, locks, resource, random } = kit
  const claim = { key: 'stock', mode: 'exclusive', waitMs: wait, handover: false } as const
  return again(kit, () =>
    client.visit(
      claim,
      () => locks.acquire(claim.key, { wait }),
      async (stay) => {
        const shown = { op: stay.op, key: claim.key, token: stay.token }
        const { accepted, value } = await resource.access(shown)
        await stay.forMs(random.whole(10, 50))
        if (accepted) await resource.access({ ...shown, value: value - 1 })
      },
    ),
  )
}
