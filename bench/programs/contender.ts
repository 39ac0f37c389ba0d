import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Contest, Start, Visit } from '../contest.ts'
import { nowNs } from '../now.ts'
import { openSubject } from '../subjects.ts'

/** One of several processes that want the same key, again and again, until the time is up. */
const { subject: name, folder, workMs } = JSON.parse(process.argv[2] as string) as Contest
const subject = openSubject(name, folder)
process.send?.('ready')
const [{ startNs, endNs }] = (await once(process, 'message')) as [Start]

const visits: Visit[] = []
while (nowNs() < startNs) await sleep(1)
for (let askNs = nowNs(); askNs < endNs; askNs = nowNs()) {
  await subject.run(async () => {
    const enterNs = nowNs()
    if (workMs > 0) await sleep(workMs)
    visits.push([askNs, enterNs, nowNs()])
  })
}
await subject.close()
process.send?.(visits, () => process.disconnect())
