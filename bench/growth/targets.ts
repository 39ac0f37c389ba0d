import type { Row, Target } from '../result.ts'
import { OURS, type Part, STORES, type StoreName } from './part.ts'
import { PARTS, partOf } from './parts.ts'
import { REDLOCK, SEMAPHORE } from './peers.ts'

const RATE = 'per second'
const INNOCENT = 'innocent p99 ms'

type Bound = Target['bound']

export function workloadOf(store: StoreName, part: Part): string {
  return `${store}: ${part.title}`
}

export function subjectOf(subject: string, n: number): string {
  return `${subject}, ${n.toLocaleString('en')}`
}

/** The targets that these rows can judge. */
export function growthTargets(rows: readonly Row[]): Target[] {
  const value = (
    store: StoreName,
    part: string,
    n: number,
    figure = RATE,
    subject = OURS,
  ): number | undefined =>
    rows.find(
      (row) => row.workload === workloadOf(store, partOf(part)) && row.subject === subjectOf(subject, n),
    )?.figures[figure]
  const judged = (
    store: StoreName,
    part: string,
    what: string,
    found: number | undefined,
    bound: Bound,
  ): Target[] =>
    found === undefined || Number.isNaN(found)
      ? []
      : [{ what: `${workloadOf(store, partOf(part))}: ${what}`, value: found, bound }]
  /** How a figure with so many compares with the same figure with fewer. */
  const beside = (
    store: StoreName,
    part: string,
    n: number,
    few: number,
    bound: Bound,
    figure = RATE,
  ): Target[] => {
    const [own, base] = [value(store, part, n, figure), value(store, part, few, figure)]
    const what = `${figure} with ${n.toLocaleString('en')}, times that with ${few.toLocaleString('en')}`
    return judged(store, part, what, quotient(own, base), bound)
  }
  const timesPeer = (part: string, n: number, peer: string, atLeast: number): Target[] => {
    const [own, theirs] = [value('redis', part, n), value('redis', part, n, RATE, peer)]
    const what = `${RATE} with ${n.toLocaleString('en')}, times ${peer}`
    return judged('redis', part, what, quotient(own, theirs), { atLeast })
  }
  const most = (store: StoreName, part: string, figure: string, atMost: number): Target[] => {
    const own = rows.filter(
      (row) => row.workload === workloadOf(store, partOf(part)) && row.subject.startsWith(`${OURS}, `),
    )
    const values = own
      .map(({ figures }) => figures[figure])
      .filter((found) => Number.isFinite(found)) as number[]
    return values.length === 0
      ? []
      : judged(store, part, `${figure}, the most of any size`, Math.max(...values), { atMost })
  }
  const all = STORES.flatMap((store) => PARTS.flatMap((part) => unharmed(rows, store, part)))
  const others = STORES.filter((store) => store !== 'redis')
  return [
    ...all,
    ...beside('redis', 'waiters', 1000, 10, { atLeast: 0.7 }),
    ...beside('redis', 'waiters', 5000, 10, { atLeast: 0.5 }),
    ...timesPeer('waiters', 1000, REDLOCK, 1.5),
    ...most('redis', 'waiters', 'slowest call ms', 2),
    ...beside('redis', 'waiters', 1000, 10, { atMost: 5 }, INNOCENT),
    ...beside('redis', 'waiters', 5000, 10, { atMost: 5 }, INNOCENT),
    ...timesPeer('semaphore', 10_000, SEMAPHORE, 20),
    ...others.flatMap((store) => beside(store, 'semaphore', 10_000, 100, { atLeast: 0.5 })),
    ...beside('redis', 'readers', 10_000, 100, { atLeast: 0.5 }),
    // The cost of each reader is the inverse of the rate.
    ...beside('redis', 'separate', 1000, 10, { atLeast: 0.5 }),
    ...['readers', 'separate'].flatMap((part) => [
      ...most('redis', part, 'writer after ms', 1000),
      ...STORES.flatMap((store) => most(store, part, 'overtook the writer', 0)),
    ]),
    ...(['memory', 'sqlite', 'redis', 'postgres'] as const).flatMap((store) =>
      beside(store, 'orders', 100_000, 1000, { atLeast: 0.8 }),
    ),
    ...(['etcd', 'zookeeper'] as const).flatMap((store) =>
      beside(store, 'waiters', 500, 10, { atLeast: 0.5 }),
    ),
    ...(['postgres', 'mysql'] as const).flatMap((store) =>
      beside(store, 'waiters', 200, 10, { atLeast: 0.5 }),
    ),
  ]
}

/** Everybody is served, and nobody loses a lease: on every store, with every size. */
function unharmed(rows: readonly Row[], store: StoreName, part: Part): Target[] {
  const workload = workloadOf(store, part)
  const own = rows.filter((row) => row.workload === workload && row.subject.startsWith(`${OURS}, `))
  if (own.length === 0) return []
  const served = own.map(
    ({ figures }) => (figures.served ?? 0) / (figures.wanted ?? Number.POSITIVE_INFINITY),
  )
  const lost = own.map(({ figures }) => figures.lost ?? 0)
  return [
    {
      what: `${workload}: served, the least part of any size`,
      value: Math.min(...served),
      bound: { atLeast: 1 },
    },
    {
      what: `${workload}: lost leases, the most of any size`,
      value: Math.max(...lost),
      bound: { atMost: 0 },
    },
  ]
}

function quotient(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one / other
}
