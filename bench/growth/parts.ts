import { HELD, LEFT } from './keys.ts'
import { ORDERS } from './orders.ts'
import type { Part } from './part.ts'
import { PROCESSES } from './processes.ts'
import { READERS, SEPARATE_READERS } from './readers.ts'
import { PERMITS } from './semaphore.ts'
import { WAITERS } from './waiters.ts'

/** Everything that may grow, in the order in which it is measured. */
export const PARTS: readonly Part[] = [
  WAITERS,
  PROCESSES,
  READERS,
  SEPARATE_READERS,
  PERMITS,
  HELD,
  LEFT,
  ORDERS,
]

export function partOf(name: string): Part {
  const part = PARTS.find((each) => each.name === name)
  if (part === undefined) throw new Error(`No such part: ${name}`)
  return part
}
