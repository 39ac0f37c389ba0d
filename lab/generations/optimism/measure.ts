import { connect } from '../../../src/index.ts'
import type { Stage } from '../context.ts'
import { WireConnection } from '../wire/connection.ts'
import type { Method, Worker } from './methods.ts'

const ROUND_MS = 250

export interface Measured {
  readonly method: string
  readonly clients: number
  readonly successes: number
  readonly perSecond: number
  /** Tries that came to nothing, for each that did not; null where nobody counts them. */
  readonly wasted: number | null
  /** True if the number in the server is the number of successes. */
  readonly exact: boolean
}

/** One method with so many clients, for a moment. */
export async function measure(method: Method, clients: number, stage: Stage): Promise<Measured> {
  const { place, screen, cancelled } = stage
  cancelled.throwIfAborted()
  screen.follow(() => `  ${method.name}, ${clients} client${clients === 1 ? '' : 's'} …`)
  const key = place.keyFor(`count-${method.name}-${clients}`)
  const { url, fencedUrl } = place.address
  const console = await WireConnection.open(url)
  const workers = await Promise.all(
    Array.from({ length: clients }, async (): Promise<Worker> => {
      return {
        key,
        connection: await WireConnection.open(url),
        locks: method.locks ? await connect(fencedUrl) : null,
      }
    }),
  )
  try {
    await console.call('SET', key, 0)
    const scriptsBefore = await scriptsRun(console)
    const startedAtMs = performance.now()
    const tallies = await Promise.all(workers.map((worker) => work(method, worker, startedAtMs + ROUND_MS)))
    const seconds = (performance.now() - startedAtMs) / 1_000
    const scripts = (await scriptsRun(console)) - scriptsBefore
    const successes = tallies.reduce((sum, tally) => sum + tally.successes, 0)
    const tries = tallies.reduce((sum, tally) => sum + tally.wasted, 0)
    const wasted =
      method.scripts === null ? tries : scripts === 0 ? null : scripts - method.scripts * successes
    return {
      method: method.name,
      clients,
      successes,
      perSecond: Math.round(successes / seconds),
      wasted: wasted === null ? null : Math.max(0, wasted / Math.max(1, successes)),
      exact: Number(await console.call('GET', key)) === successes,
    }
  } finally {
    screen.clear()
    await Promise.all(workers.map(({ locks }) => locks?.close()))
    for (const { connection } of workers) connection.close()
    console.close()
  }
}

async function work(
  method: Method,
  worker: Worker,
  untilMs: number,
): Promise<{ successes: number; wasted: number }> {
  const tally = { successes: 0, wasted: 0 }
  while (performance.now() < untilMs) {
    tally.wasted += await method.update(worker)
    tally.successes++
  }
  return tally
}

/** How many scripts the server has run: what a library sends is counted where it arrives. */
async function scriptsRun(connection: WireConnection): Promise<number> {
  const stats = String(await connection.ask('INFO', 'commandstats'))
  const calls = [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)]
  return calls.reduce((sum, [, count]) => sum + Number(count), 0)
}
