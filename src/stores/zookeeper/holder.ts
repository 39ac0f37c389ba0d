import { nodeDataOf } from './format.ts'
import type { LockSession } from './client/lock-session.ts'
import type { Queue } from './node-queue.ts'
import { isWire } from './client/errors.ts'

/** Who holds the key, as it may be told to those who wait. */
export interface HolderSeen {
  readonly label: string
  readonly sinceMs: number
}

/** Who holds the key. Null when it has just gone. */
export async function readHolder(
  { client }: LockSession,
  keyPath: string,
  queue: Queue,
): Promise<HolderSeen | null> {
  const name = nameOfHolder(queue)
  if (name === undefined) return null
  try {
    const { data, stat } = await client.getData(`${keyPath}/${name}`)
    const { label, waitedMs = 0 } = nodeDataOf(data)
    return { label, sinceMs: stat.ctimeMs + waitedMs }
  } catch (error) {
    if (isWire(error, 'NoNode')) return null
    throw error
  }
}

export function nameOfHolder({ first }: Queue): string | undefined {
  return first?.nodes[0]?.name
}
