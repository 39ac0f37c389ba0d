import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks, type Lease } from 'holdfast'
import { memory } from 'holdfast/memory'
import { emit, type Size } from '../result.ts'
import { watchTimers } from '../timers.ts'

const size = process.argv[2] as Size
const LEASES = size === 'tiny' ? 500 : 100_000
const TTL_MS = size === 'tiny' ? 300 : 6_000
/** Longer than the ttl, so that a lease that is still held has been renewed, three times by then. */
const HELD_MS = TTL_MS * 1.2
const SAMPLE_MS = 10
const NANOSECONDS_PER_MS = 1e6

const collect = global.gc as () => void
const timers = watchTimers()
const locks = createLocks({ store: memory(), ttl: TTL_MS })
await locks.using('warm-up', () => {})

const heapBefore = heapBytes()
const leases: Lease[] = []
const acquireStartedAtMs = performance.now()
for (let index = 0; index < LEASES; index++) {
  leases.push(await locks.acquire(`lease:${index}`))
  // Yields now and then, as any program does that acquires so many at once.
  if (index % 1000 === 999) await sleep(0)
}
const acquireMs = performance.now() - acquireStartedAtMs
const heapHeld = heapBytes()

const delay = monitorEventLoopDelay({ resolution: SAMPLE_MS })
delay.enable()
const cpu = process.cpuUsage()
timers.reset()
const startedAtMs = performance.now()
await sleep(HELD_MS)
const heldMs = performance.now() - startedAtMs
const timersAtOnce = timers.most()
const { user, system } = process.cpuUsage(cpu)
delay.disable()
const lost = leases.filter((lease) => !lease.held).length

await Promise.all(leases.map((lease) => lease.release()))
await locks.close()

/** The monitor's own timer waits for a sample's length before it can be late. */
function delayMs(percentile: number): number {
  return Math.max(0, delay.percentile(percentile) / NANOSECONDS_PER_MS - SAMPLE_MS)
}

function heapBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}

emit({
  rows: [
    {
      workload: `memory, ${LEASES} leases renewed`,
      subject: 'holdfast',
      figures: {
        'heap bytes each': (heapHeld - heapBefore) / LEASES,
        timers: timersAtOnce,
        'loop delay p50 ms': delayMs(50),
        'loop delay p99 ms': delayMs(99),
        'loop delay max ms': delayMs(100),
        'CPU ms per s': (user + system) / heldMs,
        'acquired per second': (LEASES / acquireMs) * 1000,
        lost,
      },
    },
  ],
  targets: [
    { what: `${LEASES} leases: timers`, value: timersAtOnce, bound: { atMost: 1 } },
    { what: `${LEASES} leases: event-loop delay p99, ms`, value: delayMs(99), bound: { atMost: 20 } },
    { what: `${LEASES} leases: lost`, value: lost, bound: { atMost: 0 } },
  ],
  overlaps: 0,
})
