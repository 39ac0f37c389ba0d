import { setTimeout as sleep } from 'node:timers/promises'
import { innocent } from '../growth/innocent.ts'
import { open } from '../growth/open.ts'
import type { Order, Run } from '../growth/part.ts'
import { partOf } from '../growth/parts.ts'
import { visit } from '../growth/processes.ts'

/** One measurement, one of the processes of one, or the innocent neighbour of many. */
type Wanted = Order & { readonly visitor?: string; readonly innocent?: true }

const WARM_UP_MS = { full: 700, quick: 300, tiny: 0 }

const order = JSON.parse(process.argv[2] as string) as Wanted
const deadlineAtMs = performance.now() + order.deadlineMs
const leftMs = (): number => Math.max(0, deadlineAtMs - performance.now())
const run: Run = {
  order,
  leftMs,
  within: async (promise) => {
    const timer = new AbortController()
    const end = sleep(leftMs(), null, { signal: timer.signal }).catch(() => null)
    try {
      return await Promise.race([promise, end])
    } finally {
      timer.abort()
    }
  },
  tell: (figures) => void process.send?.(figures),
  async open(count) {
    const opened = await open(order, count)
    // A process that takes locks lives for longer than its code needs to be compiled.
    const endMs = performance.now() + WARM_UP_MS[order.extent]
    while (performance.now() < endMs)
      await run.within(opened.locks[0]!.using(`${order.prefix}warm-up ${process.pid}`, () => {}))
    return opened
  },
}
// A client that loses its connection while the process ends says so by a rejection that nobody waits for.
process.on('unhandledRejection', (reason) => console.error(reason))

if (order.innocent) await innocent(run)
else if (order.visitor !== undefined) await visit(run, order.visitor)
else {
  run.tell({ wanted: Number.NaN, served: 0 })
  await partOf(order.part).run(run)
}
process.disconnect?.()
// The remaining waiters wait in vain.
setTimeout(() => process.exit(), 100)
