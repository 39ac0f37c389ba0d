import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Start, Visit } from '../contest.ts'
import type { Order } from '../databases/orders.ts'
import { SUBJECTS, type Subject, WARM_UP } from '../databases/subjects.ts'
import { nowNs } from '../now.ts'

const WAITERS = 50
const WORK_MS = 1

const order = JSON.parse(process.argv[2] as string) as Order
const opened = new Map<string, Subject>()
for (const name of order.subjects) {
  const open = SUBJECTS[order.database][name] as (typeof SUBJECTS)['PostgreSQL'][string]
  opened.set(name, await open(order.url, order.seat))
}
if (order.part === 'contender') await contend()
else await measure(order.part === 'alone' ? 1 : WAITERS)
for (const subject of opened.values()) await subject.close()
process.disconnect?.()

/** Rounds of all subjects in turn, after one of a single task that does not count. */
async function measure(tasks: number): Promise<void> {
  const rates: Record<string, number[]> = {}
  for (let round = -1; round < order.rounds; round++) {
    const names = round % 2 === 0 ? order.subjects : order.subjects.toReversed()
    for (const name of names) {
      const rate = await rateOf(opened.get(name) as Subject, round < 0 ? 1 : tasks)
      if (round >= 0) rates[name] = [...(rates[name] ?? []), rate]
    }
  }
  process.send?.(rates)
}

async function rateOf(subject: Subject, tasks: number): Promise<number> {
  const startMs = performance.now()
  let done = 0
  let inside = 0
  const task = async (): Promise<void> => {
    while (performance.now() - startMs < order.roundMs) {
      await subject.run('key', async () => {
        if (++inside > 1) throw new Error('two are inside')
        done++
        await null
        inside--
      })
    }
  }
  await Promise.all(Array.from({ length: tasks }, task))
  return (done * 1000) / (performance.now() - startMs)
}

/** One of several processes: tells when it asked, came in and went out. */
async function contend(): Promise<void> {
  const subject = opened.get(order.subjects[0] as string) as Subject
  // A process that takes locks lives for longer than its code needs to be compiled.
  for (let count = 0; count < order.warmUps; count++)
    await subject.run(`${WARM_UP} ${process.pid}`, async () => {})
  process.send?.('ready')
  const [{ startNs, endNs }] = (await once(process, 'message')) as [Start]
  while (nowNs() < startNs) await sleep(1)
  const visits: Visit[] = []
  for (let askNs = nowNs(); askNs < endNs; askNs = nowNs()) {
    await subject.run('key', async () => {
      const enterNs = nowNs()
      await sleep(WORK_MS)
      visits.push([askNs, enterNs, nowNs()])
    })
  }
  process.send?.(visits)
}
