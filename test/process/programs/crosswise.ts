import { ConflictError, connect } from 'holdfast'
import type { CrosswiseOrder, FromCrosswise } from '../support/messages.ts'

/** Takes the first key of each pair, and the second one when it is told to, all pairs side by side. */
const { url, prefix, label, pairs, by } = JSON.parse(process.argv[2] as string) as CrosswiseOrder

const locks = await connect(url, { prefix, label, onDeadlock: 'abort', wait: '20s' })
const told = new Promise<void>((resolve) => process.once('message', () => resolve()))
const tell = (message: FromCrosswise): void => void process.send?.(message)

async function cross(first: string, second: string): Promise<void> {
  if (by === 'using') {
    await locks.using(first, async () => {
      tell({ kind: 'has', key: first })
      await told
      await locks.using(second, () => {})
    })
    return
  }
  await using _one = await locks.acquire(first)
  tell({ kind: 'has', key: first })
  await told
  await using _two = await locks.acquire(second)
}

async function attempt([first, second]: readonly [string, string]): Promise<void> {
  try {
    await cross(first, second)
    tell({ kind: 'done', key: first })
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error
    tell({ kind: 'gave up', key: first, cycle: error.cycle ?? [] })
  }
}

await Promise.all(pairs.map(attempt))
await locks.close()
process.disconnect()
