// Shows: work that stops when its lease is lost. Here an operator evicts the holder; an expiry looks the same.
// Run:   node --import tsx examples/lost-lease.ts
// Prints:
//   page 1
//   page 2
//   evicted reporter
//   stopped after 2 pages: LEASE_LOST, the lease on "report" was lost: an operator evicted it
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks, LeaseLostError } from 'holdfast'

const locks = createLocks({ label: 'reporter' })
let pages = 0

const report = locks.using('report', async ({ signal }) => {
  for (;;) {
    signal.throwIfAborted()
    pages++
    console.log(`page ${pages}`)
    // Anything that takes a signal stops at once: fetch(url, { signal }), a timer, a query.
    if (pages === 2) await once(signal, 'abort')
  }
})
const ended = report.then(
  () => null,
  (error: unknown) => error,
)

await sleep(50)
console.log(`evicted ${(await locks.evict('report')).join()}`)
const error = await ended
if (!(error instanceof LeaseLostError)) throw error
console.log(`stopped after ${pages} pages: ${error.code}, ${error.message}`)
await locks.close()
