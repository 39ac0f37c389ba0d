import { Crowd, rateOf } from './crowd.ts'
import { type Figures, type Part, type Run, timesOf, upTo } from './part.ts'
import { isPeer, openPeer, SEMAPHORE } from './peers.ts'

const LIMIT = 10
const WORK_MS = 1

export const PERMITS: Part = {
  name: 'semaphore',
  title: `tasks of one process on a semaphore of ${LIMIT}, 1 ms of work`,
  unit: 'tasks',
  plotted: 'per second',
  sizes: (_, extent) => upTo([100, 1000, 10_000], extent),
  peers: (store) => (store === 'redis' ? [SEMAPHORE] : []),
  run: semaphore,
}

/** All ask at once, and each takes one turn; small crowds come again and again. */
async function semaphore(run: Run): Promise<Figures> {
  const { subject, url, n, prefix, extent } = run.order
  const times = timesOf(n, extent)
  const crowd = new Crowd(n * times, LIMIT, () => run.tell(figures()))
  const door = isPeer(subject) ? await peerDoor(subject, url) : await ourDoor(run)
  let activeMs = 0
  let startedAtMs = performance.now()
  const figures = (): Figures => ({
    ...crowd.figures(),
    'per second': rateOf(crowd.served, activeMs + performance.now() - startedAtMs),
    lost: door.lost(),
  })
  let found = figures()
  run.tell(found)
  for (let time = 0; time < times && run.leftMs() > 0; time++) {
    startedAtMs = performance.now()
    const tasks = Array.from({ length: n }, () =>
      crowd.visit((work) => door.enter(`${prefix}${time}`, work), WORK_MS),
    )
    await run.within(Promise.all(tasks))
    found = figures()
    activeMs += performance.now() - startedAtMs
  }
  run.tell(found)
  await run.within(door.close())
  return found
}

async function ourDoor(run: Run) {
  const { locks, lost, close } = await run.open(1)
  return {
    enter: (key: string, work: () => Promise<void>) => locks[0]!.semaphore(key, { limit: LIMIT }).using(work),
    lost,
    close,
  }
}

async function peerDoor(subject: string, url: string) {
  const { enter, close } = await openPeer(subject, url, LIMIT)
  return { enter, lost: () => 0, close }
}
