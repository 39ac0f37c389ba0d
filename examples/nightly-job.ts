// Shows: three replicas start the same job at the same time; one runs it, and nobody again within the next minute.
// Run:   node --import tsx examples/nightly-job.ts
// Prints:
//   the report is sent
//   ran, skipped, skipped
//   a late replica: skipped
import { createLocks } from 'holdfast'
import { memory, memoryWorld } from 'holdfast/memory'

const world = memoryWorld()
const replicas = Array.from({ length: 3 }, () => createLocks({ store: memory({ world }) }))
const nightly = (replica: (typeof replicas)[number]) =>
  replica.job('nightly report', { atLeast: '1m', atMost: '1h' }, () => console.log('the report is sent'))

const outcomes = await Promise.all(replicas.map(nightly))
console.log(outcomes.sort().join(', '))
console.log(`a late replica: ${await nightly(replicas[2] as (typeof replicas)[number])}`)
for (const replica of replicas) await replica.close()
