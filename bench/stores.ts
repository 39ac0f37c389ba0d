import { setTimeout as sleep } from 'node:timers/promises'
import { startProxy } from '../scripts/servers/proxy.ts'
import { outcomeOf, type Start, type Visit } from './contest.ts'
import type { Bench, Context } from './context.ts'
import type { Machine } from './machine.ts'
import { nowNs } from './now.ts'
import { type Panel, plot } from './plot.ts'
import type { Result, Row, Size } from './result.ts'
import { median, quantile } from './statistics.ts'
import { Child } from './stores/child.ts'
import { type Servers, STORES } from './stores/servers.ts'

export const STORE_PROGRAM = new URL('./programs/store.ts', import.meta.url)

export const FIGURES = {
  rate: 'locks per second',
  handOff50: 'hand-off p50 ms',
  handOff99: 'hand-off p99 ms',
  recovery: 'recovery ms',
  requests: 'requests per lock',
} as const

const TTL_MS = 2000
const PROCESSES = 4
/** From its first request on it is seen to wait; that takes milliseconds. */
const UNTIL_IT_WAITS_MS = 500

const NOTES: readonly string[] = [
  'Everything on one machine, so the network costs next to nothing. PostgreSQL, MariaDB and etcd wait for the disk, Redis and ZooKeeper were started so that they do not; etcd and ZooKeeper have three members, the quorum three servers.',
  `Locks per second: one task takes and gives back one key. Hand-off: ${PROCESSES} processes on one key with 1 ms of work, from leaving to the entry of another process.`,
  `Recovery: from the kill of a process that held a key with a ttl of ${TTL_MS} ms to the grant for a process that waits. Requests: what reaches all servers together for one lock and its release.`,
]

async function run({ bundle, size, only, progress }: Context): Promise<Result> {
  const unknown = only?.filter((store) => !Object.hasOwn(STORES, store)) ?? []
  if (unknown.length > 0) throw new Error(`--only knows ${Object.keys(STORES).join(', ')} here`)
  const rows: Row[] = []
  let overlaps = 0
  for (const [store, start] of Object.entries(STORES)) {
    if (only !== undefined && !only.includes(store)) continue
    progress(`stores: ${store}`)
    const servers = await start()
    try {
      const measured = await measure(bundle.path(STORE_PROGRAM), servers, size)
      rows.push({ workload: 'stores', subject: store, figures: measured.figures })
      overlaps += measured.overlaps
    } finally {
      await servers.stop()
    }
  }
  return { notes: NOTES, rows, targets: [], overlaps }
}

async function measure(program: string, servers: Servers, size: Size) {
  const tiny = size === 'tiny'
  const url = servers.url(servers.ports)
  const alone = new Child(program, { part: 'alone', url, rounds: tiny ? 1 : 5, roundMs: tiny ? 20 : 600 })
  const rate = median(await alone.hear<number[]>())
  await alone.kill()
  const requests =
    servers.ports.length === 0 ? Number.NaN : await requestsOf(program, servers, tiny ? 5 : 200)
  const contested = servers.shared ? await contest(program, url, tiny ? 100 : 3000) : null
  const recoveries: number[] = []
  for (let crash = 0; servers.shared && crash < (tiny ? 1 : 3); crash++)
    recoveries.push(await recovery(program, url))
  const handOffsMs = contested?.handOffsMs ?? []
  return {
    figures: {
      [FIGURES.rate]: rate,
      [FIGURES.handOff50]: quantile(handOffsMs, 0.5),
      [FIGURES.handOff99]: quantile(handOffsMs, 0.99),
      [FIGURES.recovery]: median(recoveries),
      [FIGURES.requests]: requests,
    },
    overlaps: contested?.overlaps ?? 0,
  }
}

/** Counted by proxies before the servers; what is sent without being asked for counts too. */
async function requestsOf(program: string, servers: Servers, count: number): Promise<number> {
  const proxies = await Promise.all(servers.ports.map((port) => startProxy(port)))
  const child = new Child(program, { part: 'some', url: servers.url(proxies.map(({ port }) => port)), count })
  const passed = () => proxies.reduce((sum, proxy) => sum + proxy.passed.requests, 0)
  try {
    await child.hear()
    const before = passed()
    child.say({})
    await child.hear()
    return (passed() - before) / count
  } finally {
    await child.kill()
    await Promise.all(proxies.map((proxy) => proxy.close()))
  }
}

async function contest(program: string, url: string, lastsMs: number) {
  const children = Array.from({ length: PROCESSES }, () => new Child(program, { part: 'contender', url }))
  try {
    await Promise.all(children.map((child) => child.hear()))
    const startNs = nowNs() + 20e6
    const start: Start = { startNs, endNs: startNs + lastsMs * 1e6 }
    const visits = await Promise.all(
      children.map((child) => {
        child.say(start)
        return child.hear<Visit[]>()
      }),
    )
    return outcomeOf(
      visits.map((each, place) => ({ place, visits: each })),
      start,
    )
  } finally {
    await Promise.all(children.map((child) => child.kill()))
  }
}

async function recovery(program: string, url: string): Promise<number> {
  const holder = new Child(program, { part: 'holder', url, ttlMs: TTL_MS })
  await holder.hear()
  const waiter = new Child(program, { part: 'waiter', url, ttlMs: TTL_MS })
  try {
    await waiter.hear()
    await sleep(UNTIL_IT_WAITS_MS)
    const killedNs = nowNs()
    const granted = waiter.hear<number>()
    await holder.kill()
    return ((await granted) - killedNs) / 1e6
  } finally {
    await waiter.kill()
  }
}

function draw({ rows }: Result, { cpu, cores, node }: Machine): string {
  const panel = (title: string, unit: string, figure: string): Panel => ({
    title,
    unit,
    bars: rows
      .filter(({ figures }) => !Number.isNaN(figures[figure]))
      .map(({ subject, figures }) => ({ name: subject, value: figures[figure] as number, kind: 'ours' })),
  })
  const servers = rows.filter(({ subject }) => subject !== 'memory')
  const onServers = (title: string, unit: string): Panel => ({
    title,
    unit,
    bars: servers.map(({ subject, figures }) => ({
      name: subject,
      value: figures[FIGURES.rate] as number,
      kind: 'ours',
    })),
  })
  return plot(
    [
      onServers('One lock after the other', 'locks per second: longer is better'),
      panel('From process to process', 'hand-off p50, ms: shorter is better', FIGURES.handOff50),
      panel(
        'After a crash',
        `ms until the next has the key, ttl ${TTL_MS} ms: shorter is better`,
        FIGURES.recovery,
      ),
    ],
    `npm run bench -- --stores, ${cpu}, ${cores} cores, Node ${node}`,
  )
}

/** Nothing to be met: a comparison for those who choose. */
export const STORES_BENCH: Bench = { run, draw, judge: () => [], bySubject: true }
