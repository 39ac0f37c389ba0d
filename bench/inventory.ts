import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { startRedis } from '../scripts/servers/redis.ts'
import type { Bench, Context } from './context.ts'
import type { Result } from './result.ts'

export const INVENTORY_PROGRAM = new URL('./programs/inventory.ts', import.meta.url)

const NOTES: readonly string[] = [
  'The bare script takes one from a counter (GET, DECR) or from a set (SPOP), through the same client, and knows nothing of buyers.',
  'Ours remembers for every take who took what by which request, so that a repetition gets the same answer.',
]

/** `inventory().take` on Redis beside the script that one would write by hand. */
async function run({ bundle, size, progress }: Context): Promise<Result> {
  progress('inventory: take on Redis')
  const server = await startRedis()
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [
      bundle.path(INVENTORY_PROGRAM),
      JSON.stringify({ size, url: server.url }),
    ])
    return { ...(JSON.parse(stdout) as Result), notes: NOTES }
  } finally {
    await server.stop()
  }
}

export const INVENTORY: Bench = { run }
