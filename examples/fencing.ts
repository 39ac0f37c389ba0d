// Shows: why a lock alone is not enough, and what is. A holder sleeps through the end of its lease and writes late.
//        The resource remembers the highest token it has seen and refuses lower ones.
// Run:   node --import tsx examples/fencing.ts
// Prints:
//   slow: has the lease for 50 ms
//   fast: wrote "new"
//   slow: woke up, lease held: false
//   slow: refused, a newer holder has written
//   the file says "new"
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks, StaleTokenError } from 'holdfast'

/** The resource. In a database this is `update … set fence = :token where id = :id and fence <= :token`. */
class FencedFile {
  text = ''
  private highest = 0n

  write(text: string, token: bigint): void {
    if (token < this.highest) throw new StaleTokenError('a newer holder has written')
    this.highest = token
    this.text = text
  }
}

const locks = createLocks()
const file = new FencedFile()

// Not renewed: the same happens to a process that is paused, or cut off from the store, for longer than the ttl.
const slow = await locks.acquire('file', { ttl: '50ms', renew: false })
console.log('slow: has the lease for 50 ms')

await locks.using('file', async ({ token }) => {
  file.write('new', token as bigint)
  console.log('fast: wrote "new"')
})

await sleep(20)
console.log(`slow: woke up, lease held: ${slow.held}`)
try {
  file.write('old', slow.token as bigint)
} catch (error) {
  if (!(error instanceof StaleTokenError)) throw error
  console.log(`slow: refused, ${error.message}`)
}
console.log(`the file says "${file.text}"`)
await locks.close()
