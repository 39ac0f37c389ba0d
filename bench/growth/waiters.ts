import { setTimeout as sleep } from 'node:timers/promises'
import { Crowd, rateOf } from './crowd.ts'
import { type Figures, type Part, type Run, type StoreName, timesOf, upTo } from './part.ts'
import { isPeer, openPeer, REDLOCK } from './peers.ts'

const WORK_MS = 1
/** The longest wait of the holder until all have joined, as a part of what is left. */
const JOINING = 0.4
const BESIDE_PEERS: readonly number[] = [10, 1000]

/** The turnstile of a crowd: lets one after another in, and tells when all wait. */
interface Door {
  hold(key: string): Promise<() => Promise<unknown>>
  enter(index: number, key: string, work: () => Promise<void>): Promise<unknown>
  joined(count: number, withinMs: number): Promise<void>
  lost(): number
  close(): Promise<unknown>
}

export const WAITERS: Part = {
  name: 'waiters',
  title: 'Locks objects that wait for one key, 1 ms of work',
  unit: 'Locks objects',
  plotted: 'per second',
  sizes: (store, extent) => upTo(sizesOf(store), extent),
  peers: (store, n, extent) =>
    store === 'redis' && (extent === 'full' ? BESIDE_PEERS : [10]).includes(n) ? [REDLOCK] : [],
  run: waiters,
}

function sizesOf(store: StoreName): readonly number[] {
  if (store === 'memory' || store === 'redis' || store === 'sqlite') return [10, 100, 1000, 5000]
  if (store === 'etcd' || store === 'zookeeper') return [10, 100, 500, 1000]
  return [10, 100, 200, 1000]
}

/** Each takes one turn behind a holder that lets go once all have joined; small crowds come again and again. */
async function waiters(run: Run): Promise<Figures> {
  const { order } = run
  const { n, prefix, extent } = order
  const door = isPeer(order.subject) ? await peerDoor(run) : await ourDoor(run)
  const times = timesOf(n, extent)
  const all = new Crowd(n * times, 1, () => run.tell(figures()))
  let activeMs = 0
  let startedAtMs: number | null = null
  const figures = (): Figures => ({
    ...all.figures(),
    'per second': rateOf(all.served, activeMs + (startedAtMs === null ? 0 : performance.now() - startedAtMs)),
    lost: door.lost(),
  })
  run.tell(figures())
  for (let time = 0; time < times && run.leftMs() > 0; time++) {
    const key = `${prefix}${time}`
    const letGo = await run.within(door.hold(key))
    if (letGo === null) break
    const visits = Array.from({ length: n }, (_, index) =>
      all.visit((work) => door.enter(index, key, work), WORK_MS),
    )
    await door.joined(n, run.leftMs() * JOINING)
    startedAtMs = performance.now()
    all.begin()
    await run.within(Promise.all([letGo(), ...visits]))
    activeMs += performance.now() - startedAtMs
    startedAtMs = null
  }
  const found = figures()
  run.tell(found)
  await run.within(door.close())
  return found
}

async function ourDoor(run: Run): Promise<Door> {
  const { n } = run.order
  const { locks, lost, waiting, close } = await run.open(n + 1)
  let before = 0
  const [holder, ...others] = locks
  return {
    async hold(key) {
      before = waiting()
      const lease = await holder!.acquire(key)
      return () => lease.release()
    },
    enter: (index, key, work) => others[index]!.using(key, work),
    async joined(count, withinMs) {
      const endMs = performance.now() + withinMs
      while (waiting() - before < count && performance.now() < endMs) await sleep(5)
    },
    lost,
    close,
  }
}

/** It does not say who waits: it is given time for it. */
async function peerDoor({ order: { subject, url } }: Run): Promise<Door> {
  const peer = await openPeer(subject, url)
  return {
    hold: (key) =>
      new Promise((resolve, reject) => {
        const over = peer.enter(key, () => new Promise((end) => resolve(letGo(end))))
        const letGo = (end: () => void) => (): Promise<void> => {
          end()
          return over
        }
        over.catch(reject)
      }),
    enter: (_, key, work) => peer.enter(key, work),
    joined: (count, withinMs) => sleep(Math.min(withinMs, 50 + count)),
    lost: () => 0,
    close: () => peer.close(),
  }
}
