// A process that wants keys, again and again, whatever happens to it or to the servers. It writes down what it knows, and ends when
// its input does.
import { createInterface } from 'node:readline'
import type { Locks } from 'holdfast'
import { Random } from '../simulation/random.ts'
import { HistoryWriter } from './history.ts'
import { LockClient, sleep } from './lock-client.ts'
import type { WorkerOrder } from './order.ts'
import { Resource } from './resource.ts'
import { open } from './roads.ts'
import { CALL_TIMEOUT_MS, TTL_MS } from './settings.ts'
import type { Kit } from './workloads/kit.ts'
import { exclusive, handOver, permits, shared } from './workloads/locks.ts'
import { register, stock } from './workloads/resources.ts'

const { name, url, addresses, folder, socket, seed } = JSON.parse(process.argv[2] as string) as WorkerOrder
const history = new HistoryWriter(folder, name)
const client = new LockClient(name, history)
const over = new AbortController()
const orders = createInterface({ input: process.stdin })
orders.on('close', () => over.abort())
// `block 1500`: the event loop stands still for so many milliseconds.
orders.on('line', (line) => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(line.split(' ')[1]))
})

const locks = await enter(false)
const handing = await enter(true)
if (locks !== null && handing !== null) {
  client.listen(locks)
  history.write({ f: 'begun', worker: name })
  const resource = new Resource(socket)
  const workloads = { exclusive, shared, permits, register, stock, handOver }
  const kit = { locks, handing, client, resource, over: over.signal }
  await Promise.all(
    Object.entries(workloads).map(([label, workload]) =>
      workload({ ...kit, random: new Random(seed, `${name} ${label}`) } satisfies Kit),
    ),
  )
  resource.close()
}
await locks?.close()
await handing?.close()
history.close()

/** Tries again while the servers are gone; null when the run is over first. */
async function enter(handover: boolean): Promise<Locks | null> {
  while (!over.signal.aborted) {
    try {
      const options = { ttl: TTL_MS, callTimeout: CALL_TIMEOUT_MS, handover, label: name }
      const made = await open(url, addresses, options)
      made.on('warning', () => {})
      return made
    } catch (error) {
      const { code = '' } = error as { code?: string }
      if (code !== 'STORE_UNAVAILABLE') history.write({ f: 'complaint', text: `cannot connect: ${error}` })
      await sleep(100)
    }
  }
  return null
}
