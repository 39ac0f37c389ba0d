// Shows: several keys as one lease, all or none. Transfers in both directions cannot wait for each other for ever.
// Run:   node --import tsx examples/several-keys.ts
// Prints:
//   alice 70, bob 30
//   one of two is busy: LOCK_TIMEOUT, and the other is free again: true
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks, type LockError } from 'holdfast'

const locks = createLocks()
const balance = { alice: 100, bob: 0 }
type Name = keyof typeof balance

async function transfer(from: Name, to: Name, amount: number): Promise<void> {
  await using _lease = await locks.all([`account:${from}`, `account:${to}`])
  const [ours, theirs] = [balance[from], balance[to]]
  await sleep(5)
  balance[from] = ours - amount
  balance[to] = theirs + amount
}

await Promise.all([transfer('alice', 'bob', 50), transfer('bob', 'alice', 40), transfer('alice', 'bob', 20)])
console.log(`alice ${balance.alice}, bob ${balance.bob}`)

const busy = await locks.acquire('account:bob')
await locks.all(['account:alice', 'account:bob'], { wait: '50ms' }).catch(async (error: LockError) => {
  await using alice = await locks.tryAcquire('account:alice')
  console.log(`one of two is busy: ${error.code}, and the other is free again: ${alice !== null}`)
})
await busy.release()
await locks.close()
