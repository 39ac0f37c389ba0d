import { connect } from '../../../index.ts'
import type { Plot } from '../figures.ts'
import { METHODS, type Method, type Worker } from '../optimism/methods.ts'
import { claim, type Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'
import { Connection } from '../wire/connection.ts'

const CLIENTS = [1, 2, 4, 8, 16] as const
const ROUND_MS = 250

interface Measured {
  readonly method: string
  readonly clients: number
  readonly successes: number
  readonly perSecond: number
  /** Tries that came to nothing, for each that did not. */
  readonly wasted: number
  /** Whether the number in the server is the number of successes. */
  readonly exact: boolean
}

/** Trying and starting again, against waiting for one's turn. */
export const CONTENTION: Scenario = {
  name: 'contention',
  group: 'contention',
  title: 'WATCH against locking, while more and more clients want the same key',
  about:
    'Each client reads a number, thinks for two milliseconds and writes it back, plus one. WATCH begins again when another was faster; SET NX asks again until the lock is free; Holdfast waits in line; a script needs no thinking time outside of the server.',
  async run(stage) {
    const all: Measured[] = []
    for (const clients of CLIENTS)
      for (const method of METHODS) all.push(await measure(method, clients, stage))
    const lines = (value: (one: Measured) => number): Plot['lines'] =>
      METHODS.map(({ name }) => ({ name, values: all.filter(({ method }) => method === name).map(value) }))
    const shape = { kind: 'plot', across: 'clients', places: CLIENTS } as const
    const of = (name: string, clients: number): Measured =>
      all.find((one) => one.method === name && one.clients === clients)!
    const most = CLIENTS.at(-1)!
    const [alone, crowded] = [of('WATCH', 1), of('WATCH', most)]
    return {
      figures: [
        {
          ...shape,
          title: 'Tries that came to nothing',
          up: 'for each success',
          lines: lines(({ wasted }) => wasted),
        },
        {
          ...shape,
          title: 'Successful updates with thinking time',
          up: 'per second',
          // The script has no thinking time, so its rate is another matter.
          lines: lines(({ perSecond }) => perSecond).filter(({ name }) => name !== 'script'),
        },
      ],
      claims: [
        claim(
          all.every(({ exact }) => exact),
          'no update was lost, by any method',
        ),
        claim(alone.wasted === 0, 'a client alone never has to begin again'),
        claim(
          crowded.wasted > 1,
          `with ${most} clients WATCH threw ${crowded.wasted.toFixed(1)} tries away for each success`,
        ),
        claim(
          of('Holdfast', most).wasted < 1,
          `Holdfast sent ${of('Holdfast', most).wasted.toFixed(2)} scripts more than two for each success: who waits in line does not ask again`,
        ),
      ],
      verdict:
        'Optimism is right while conflicts are rare: it costs nothing then. The more clients want one key, the more of their work is thrown away, and a line is better. What fits into one script needs neither.',
      data: { measured: all },
    }
  },
}

async function measure(
  method: Method,
  clients: number,
  { place, screen, cancelled }: Stage,
): Promise<Measured> {
  cancelled.throwIfAborted()
  screen.follow(() => `  ${method.name}, ${clients} client${clients === 1 ? '' : 's'} …`)
  const key = place.keyFor(`count-${method.name}-${clients}`)
  const { url, fencedUrl } = place.address
  const connections = await Promise.all(Array.from({ length: clients }, () => Connection.open(url)))
  const lockers = method.locks
    ? await Promise.all(connections.map(() => connect(fencedUrl)))
    : connections.map(() => null)
  const workers: Worker[] = connections.map((connection, at) => ({
    connection,
    locks: lockers[at] ?? null,
    key,
  }))
  try {
    await connections[0]!.call('SET', key, 0)
    const scriptsBefore = await scriptsRun(connections[0]!)
    const startedAtMs = performance.now()
    const tallies = await Promise.all(workers.map((worker) => work(method, worker, startedAtMs + ROUND_MS)))
    const seconds = (performance.now() - startedAtMs) / 1_000
    const scripts = (await scriptsRun(connections[0]!)) - scriptsBefore
    const successes = tallies.reduce((sum, tally) => sum + tally.successes, 0)
    const tries = tallies.reduce((sum, tally) => sum + tally.wasted, 0)
    const surplus = method.scripts === null ? 0 : Math.max(0, scripts - method.scripts * successes)
    const wasted = (tries + surplus) / Math.max(1, successes)
    const exact = Number(await connections[0]!.call('GET', key)) === successes
    return {
      method: method.name,
      clients,
      successes,
      perSecond: Math.round(successes / seconds),
      wasted,
      exact,
    }
  } finally {
    screen.clear()
    await Promise.all(lockers.map((locks) => locks?.close()))
    for (const connection of connections) connection.close()
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
async function scriptsRun(connection: Connection): Promise<number> {
  const stats = String(await connection.ask('INFO', 'commandstats'))
  const calls = [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)]
  return calls.reduce((sum, [, count]) => sum + Number(count), 0)
}
