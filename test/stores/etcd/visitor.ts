// A process that takes one key again and again, and prints one line for each of its visits: when it came, until when it
// knew that it held the key, both on the machine's monotonic clock, and its token.
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks, LeaseLostError, StoreError } from 'holdfast'
import { etcd } from 'holdfast/etcd'

const [, , endpoints = '', key = '', ttl = ''] = process.argv
const locks = createLocks({ store: etcd({ endpoints: endpoints.split(',') }), ttl: Number(ttl) })
let over = false
process.stdin.on('end', () => {
  over = true
})
process.stdin.resume()

/** The same clock in every process of the machine. */
function clockMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

while (!over) {
  try {
    await locks.using(key, { wait: 5000 }, async (lease) => {
      const fromMs = clockMs()
      if (!lease.held) return
      let untilMs = fromMs
      const { token } = lease
      for (let step = 0; step < 4; step++) {
        await sleep(5)
        // Asked first, then looked at the clock: what is told is never longer than what was known.
        const nowMs = clockMs()
        if (!lease.held) break
        untilMs = nowMs
      }
      console.log(JSON.stringify({ token: String(token), fromMs, untilMs }))
    })
  } catch (error) {
    const known = error instanceof StoreError || error instanceof LeaseLostError
    if (!known && (error as { code?: string }).code !== 'LOCK_TIMEOUT') throw error
    await sleep(20)
  }
}
await locks.close()
