import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'holdfast'
import type { Start, Visit } from '../contest.ts'
import { nowNs } from '../now.ts'
import type { Order } from '../stores/orders.ts'

const WORK_MS = 1

/** One process of the comparison of stores; it answers by one message. */
const order = JSON.parse(process.argv[2] as string) as Order
const locks = await connect(order.url, { wait: 60_000 })
const nothing = (): void => {}

switch (order.part) {
  case 'alone': {
    const rates: number[] = []
    for (let round = -1; round < order.rounds; round++) {
      const startMs = performance.now()
      let done = 0
      for (; performance.now() - startMs < order.roundMs; done++) await locks.using('alone', nothing)
      if (round >= 0) rates.push((done * 1000) / (performance.now() - startMs))
    }
    process.send?.(rates)
    break
  }
  case 'some': {
    await locks.using('some', nothing)
    process.send?.('ready')
    await once(process, 'message')
    for (let done = 0; done < order.count; done++) await locks.using('some', nothing)
    process.send?.('done')
    break
  }
  case 'contender': {
    await locks.using(`warm-up ${process.pid}`, nothing)
    process.send?.('ready')
    const [{ startNs, endNs }] = (await once(process, 'message')) as [Start]
    while (nowNs() < startNs) await sleep(1)
    const visits: Visit[] = []
    for (let askNs = nowNs(); askNs < endNs; askNs = nowNs()) {
      await locks.using('contended', async () => {
        const enterNs = nowNs()
        await sleep(WORK_MS)
        visits.push([askNs, enterNs, nowNs()])
      })
    }
    process.send?.(visits)
    break
  }
  case 'holder':
    await locks.acquire('left behind', { ttl: order.ttlMs })
    process.send?.('held')
    // Until it is killed.
    await once(process, 'disconnect')
    break
  case 'waiter': {
    process.send?.('waiting')
    const lease = await locks.acquire('left behind', { ttl: order.ttlMs })
    process.send?.(nowNs())
    await lease.release()
  }
}
await locks.close()
process.disconnect?.()
