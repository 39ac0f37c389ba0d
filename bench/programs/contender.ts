import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Start, Visit } from '../contest.ts'
import { nowNs } from '../now.ts'
import type { Order } from '../sqlite/contest.ts'
import type { Account } from '../sqlite/outcome.ts'
import { openSubject, WARM_UP } from '../sqlite/subjects.ts'

/** One of several processes whose tasks come in and go out, again and again, until the time is up. */
const {
  subject: name,
  folder,
  seat,
  tasks,
  keys,
  workMs,
  warmUpMs,
} = JSON.parse(process.argv[2] as string) as Order
const subject = await openSubject(name, folder, seat)
const keyOf = (index: number) => (keys === 'one' ? 'key' : `key-${process.pid}-${index}`)
for (let index = 0; index < tasks; index++) subject.prepare(keyOf(index))
// A service has long been compiled: what the first seconds of a process cost is not what is compared here.
const warmUpKey = `${WARM_UP}-${process.pid}`
subject.prepare(warmUpKey)
for (const endMs = performance.now() + warmUpMs; performance.now() < endMs; )
  await subject.run(warmUpKey, async () => {})
process.send?.('ready')
const [{ startNs, endNs }] = (await once(process, 'message')) as [Start]

const visits: Visit[] = []
const askedNs = new Map<number, number>()
while (nowNs() < startNs) await sleep(1)
const cpu = process.cpuUsage()
const all = Promise.all(Array.from({ length: tasks }, (_, index) => task(index)))
// A library that polls with long pauses would notice the end late.
await Promise.race([all, sleep((endNs - nowNs()) / 1e6)])
const { user, system } = process.cpuUsage(cpu)
const account: Account = {
  visits: visits.filter(([, , exitNs]) => exitNs <= endNs),
  waitingSinceNs: [...askedNs.values()],
  cpuMicroseconds: user + system,
}
process.send?.(account)

async function task(index: number): Promise<void> {
  const key = keyOf(index)
  for (let askNs = nowNs(); askNs < endNs; askNs = nowNs()) {
    askedNs.set(index, askNs)
    await subject.run(key, async () => {
      const enterNs = nowNs()
      askedNs.delete(index)
      if (workMs > 0) await sleep(workMs)
      visits.push([askNs, enterNs, nowNs()])
    })
  }
}
