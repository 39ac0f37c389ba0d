// Shows: two candidates, one leader; when it resigns the other one takes over.
// Run:   node --import tsx examples/leader.ts
// Prints:
//   a leads
//   b leads
import { createLocks } from 'holdfast'
import { memory, memoryWorld } from 'holdfast/memory'

const world = memoryWorld()
const candidates = ['a', 'b'].map((label) => {
  const locks = createLocks({ store: memory({ world }), label })
  return { label, locks, election: locks.election('scheduler') }
})

const untilStopped = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))

const terms = candidates.map(({ label, election }) =>
  election.lead((_lease, signal) => {
    console.log(`${label} leads`)
    const stopped = untilStopped(signal)
    setTimeout(() => void election.resign(), 10)
    return stopped
  }),
)
await Promise.all(terms)
for (const { locks } of candidates) await locks.close()
