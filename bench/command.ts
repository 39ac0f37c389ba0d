import { execFileSync } from 'node:child_process'
import { ADVISORY_BENCH, DATABASE_PROGRAM } from './advisory.ts'
import type { Args } from './args.ts'
import { Bundle } from './bundle.ts'
import { CONSENSUS } from './consensus/bench.ts'
import type { Bench, Context } from './context.ts'
import { MYSQL, POSTGRES } from './databases.ts'
import { ETCD } from './etcd.ts'
import { PARTS } from './growth/parts.ts'
import { GROWTH, GROWTH_PROGRAM } from './growth.ts'
import { INVENTORY, INVENTORY_PROGRAM } from './inventory.ts'
import { keep } from './keep.ts'
import { thisMachine } from './machine.ts'
import { METRICS, METRICS_PROGRAM } from './metrics.ts'
import { installPeers } from './peers.ts'
import { PUSHES } from './pushes.ts'
import { QUORUM, QUORUM_PROGRAM } from './quorum.ts'
import { REDIS, REDIS_PARTS, REDIS_PROGRAMS } from './redis.ts'
import { describeMachine, describeResult } from './report.ts'
import type { Result, Size } from './result.ts'
import { benchSqlite, CONTENDER, PAIR } from './sqlite.ts'
import { STARTUP } from './startup.ts'
import { STORE_PROGRAM, STORES_BENCH } from './stores.ts'
import { ZOOKEEPER } from './zookeeper.ts'

const MEMORY = new URL('./programs/memory.ts', import.meta.url)
const LEASES = new URL('./programs/leases.ts', import.meta.url)

const BENCHES: Record<string, Bench> = {
  memory: { run: ({ bundle, size }) => inOneProcess(bundle.path(MEMORY), size) },
  leases: { run: ({ bundle, size }) => inOneProcess(bundle.path(LEASES), size) },
  sqlite: { run: benchSqlite },
  postgres: POSTGRES,
  mysql: MYSQL,
  advisory: ADVISORY_BENCH,
  redis: REDIS,
  pushes: PUSHES,
  quorum: QUORUM,
  inventory: INVENTORY,
  metrics: METRICS,
  etcd: ETCD,
  zookeeper: ZOOKEEPER,
  growth: GROWTH,
  startup: STARTUP,
}

/** Benchmarks that compare with other libraries. */
const BESIDE_PEERS = new Set([
  'postgres',
  'mysql',
  'advisory',
  'redis',
  'quorum',
  'etcd',
  'zookeeper',
  'startup',
  'growth',
])

const USAGE = `npm run bench -- [${Object.keys(BENCHES).join('|')}]… [--json] [--write] [--tiny] [--only PART,…] [--against REF] [--profile FOLDER]
npm run bench -- --stores [--only STORE,…]    all stores side by side
npm run bench -- growth [--stores STORE,…] [--quick] [--only PART,…]    cost as work grows
  --json     print the results as JSON
  --write    keep them in bench/results/
  --tiny     only show that everything runs: the figures mean nothing
  --quick    growth up to a hundred or so, in one round
  --against  a commit, a tag or a packed tarball: that build takes part, beside ours, in the same rounds
  --only     some parts of redis, measured or written alone: ${REDIS_PARTS.join(', ')}
             or of etcd and zookeeper: sequential, keys, waiters, processes
             or of advisory: alone, waiters, processes
             or of quorum: sequential, keys, stopped, killed
             or of growth: ${PARTS.map(({ name }) => name).join(', ')}
  --profile  keep a CPU profile of every process of redis, etcd and zookeeper in that folder`

/** A process of its own, so that no workload meets the heap and the compiled code of another. */
function inOneProcess(program: string, size: Size): Result {
  const output = execFileSync(process.execPath, ['--expose-gc', program, size], { encoding: 'utf8' })
  return JSON.parse(output) as Result
}

/** Does what the command line asks for. */
export async function command(args: Args): Promise<void> {
  const names = args.names.length === 0 ? Object.keys(BENCHES) : args.names
  const unknown = names.filter((name) => !Object.hasOwn(BENCHES, name) && name !== 'stores')
  if (!args.help && unknown.length === 0) return run(names, args)
  console.log(unknown.length > 0 ? `Unknown: ${unknown.join(', ')}.\n${USAGE}` : USAGE)
  process.exitCode = args.help ? 0 : 64
}

function progress(what: string): void {
  console.error(`${(performance.now() / 1000).toFixed(0).padStart(4)} s  ${what}`)
}

async function run(names: readonly string[], args: Args): Promise<void> {
  const machine = thisMachine()
  const results: Record<string, Result> = {}
  const say = (text: string): void => {
    if (!args.json) console.log(`${text}\n`)
  }
  say(describeMachine(machine))
  // Before the programs are built: installing clears the folder that they are built into.
  if (!args.tiny && names.some((name) => BESIDE_PEERS.has(name))) installPeers(progress)
  const bundle = await Bundle.of(
    MEMORY,
    LEASES,
    PAIR,
    CONTENDER,
    CONSENSUS,
    QUORUM_PROGRAM,
    INVENTORY_PROGRAM,
    DATABASE_PROGRAM,
    STORE_PROGRAM,
    METRICS_PROGRAM,
    GROWTH_PROGRAM,
    ...REDIS_PROGRAMS,
  )
  const context: Context = {
    bundle,
    size: args.tiny ? 'tiny' : 'full',
    quick: args.quick,
    ...(args.only !== undefined && { only: args.only }),
    ...(args.stores !== undefined && { stores: args.stores }),
    ...(args.profile !== undefined && { profile: args.profile }),
    progress,
  }
  try {
    for (const name of names) {
      const bench = BENCHES[name] ?? STORES_BENCH
      const result = await bench.run(context)
      results[name] = result
      say(describeResult(result))
      if (args.write) keep(name, bench, machine, result)
      if (result.overlaps > 0) process.exitCode = 1
    }
  } finally {
    bundle.remove()
  }
  if (args.json) console.log(JSON.stringify({ machine, results }, null, 2))
}
