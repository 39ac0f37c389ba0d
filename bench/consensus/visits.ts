import type { Contender, Visit } from '../contest.ts'
import type { LineDone } from '../redis/orders.ts'

/** Waiters of one process are places of their own only when there is no other process. */
export function contendersOf({ visits }: LineDone, place: number | null): Contender[] {
  return visits.map((flat, index) => ({ place: place ?? index, visits: visitsOf(flat) }))
}

function visitsOf(flat: Float64Array): Visit[] {
  return Array.from({ length: flat.length / 3 }, (_, index) => {
    const [askNs = 0, enterNs = 0, exitNs = 0] = flat.subarray(3 * index, 3 * index + 3)
    return [askNs, enterNs, exitNs]
  })
}
