import { Redis } from 'ioredis'
import { type ClusterNode, type RedisCluster, startCluster } from '../scripts/servers/cluster.ts'
import type { Bench, Context } from './context.ts'
import type { Result, Row } from './result.ts'
import { median, quantile } from './statistics.ts'

const WAYS = ['PUBLISH, one inbox', 'SPUBLISH, an inbox on every master'] as const
type Way = (typeof WAYS)[number]

/** As a release does it: the key is written, and whoever is next is told. */
const SCRIPTS: Record<Way, string> = {
  'PUBLISH, one inbox': "redis.call('SET', KEYS[1], ARGV[2]) return redis.call('PUBLISH', ARGV[1], ARGV[2])",
  'SPUBLISH, an inbox on every master':
    "redis.call('SET', KEYS[1], ARGV[2]) return redis.call('SPUBLISH', ARGV[1], ARGV[2])",
}

const FULL = { rounds: 12, alone: 300, together: 3000 }
const TINY = { rounds: 1, alone: 3, together: 6 }
const AT_ONCE = 50

const NOTES: readonly string[] = [
  'Three masters with a replica each. A script on each master in turn writes a key and tells a waiter, who is another connection.',
  'PUBLISH reaches a subscriber at any node: every node passes it on to all others. SPUBLISH stays with the node and its replica,',
  'so that the waiter must listen at every master.',
  'CPU: of all six servers together, for each push.',
]

/** A master, with what is sent to it and a connection that listens there. */
interface Post {
  readonly sender: Redis
  readonly listener: Redis
  readonly key: string
  readonly channel: string
}

interface Round {
  readonly latenciesMs: readonly number[]
  readonly perSecond: number
  readonly cpuMicroseconds: number
}

/** The two ways to tell a waiter of a cluster that it is its turn. */
async function run({ size, progress }: Context): Promise<Result> {
  const plan = size === 'tiny' ? TINY : FULL
  const cluster = await startCluster()
  try {
    const posts = await postsOf(cluster)
    const rounds = new Map<Way, Round[]>(WAYS.map((way) => [way, []]))
    for (let round = 0; round < plan.rounds; round++) {
      progress(`pushes: round ${round + 1} of ${plan.rounds}`)
      for (const way of round % 2 === 0 ? WAYS : WAYS.toReversed())
        rounds.get(way)?.push(await measure(way, cluster, posts, plan))
    }
    for (const { sender, listener } of posts) for (const client of [sender, listener]) client.disconnect()
    return {
      rows: [...rounds].map(([way, each]) => rowOf(way, each)),
      targets: [],
      overlaps: 0,
      notes: NOTES,
    }
  } finally {
    await cluster.stop()
  }
}

async function postsOf(cluster: RedisCluster): Promise<Post[]> {
  const masters = await cluster.masters()
  return Promise.all(
    masters.map(async (master) => {
      const tag = await tagAt(cluster, master)
      const [sender, listener] = [new Redis(master.server.port), new Redis(master.server.port)]
      return { sender, listener, key: `{${tag}}key`, channel: `{${tag}}inbox` }
    }),
  )
}

/** A name whose slot that master serves. */
async function tagAt(cluster: RedisCluster, master: ClusterNode): Promise<string> {
  for (let number = 0; ; number++) {
    const slot = Number(await master.operator.call('CLUSTER', ['KEYSLOT', `t${number}`]))
    if ((await cluster.ownerOf(slot)) === master) return `t${number}`
  }
}

async function measure(
  way: Way,
  cluster: RedisCluster,
  posts: readonly Post[],
  { alone, together }: typeof FULL,
): Promise<Round> {
  const waits = new Map<string, () => void>()
  const hear = (_: string, text: string): void => waits.get(text)?.()
  const one = posts[0] as Post
  const shared = way !== WAYS[0]
  for (const { listener, channel } of shared ? posts : [one]) {
    listener.on(shared ? 'smessage' : 'message', hear)
    await (shared ? listener.ssubscribe(channel) : listener.subscribe(channel))
  }
  const shas = await Promise.all(posts.map(({ sender }) => sender.script('LOAD', SCRIPTS[way])))
  const push = (number: number): Promise<void> => {
    const { sender, key, channel } = posts[number % posts.length] as Post
    const sha = shas[number % posts.length] as string
    const text = `${way} ${number}`
    const heard = new Promise<void>((resolve) => waits.set(text, resolve))
    const sent = sender.evalsha(sha, 1, key, shared ? channel : one.channel, text)
    return Promise.all([heard, sent]).then(() => void waits.delete(text))
  }

  const latenciesMs: number[] = []
  for (let number = 0; number < alone; number++) {
    const startedAtMs = performance.now()
    await push(number)
    latenciesMs.push(performance.now() - startedAtMs)
  }
  const before = await cpuOf(cluster)
  const startedAtMs = performance.now()
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < together) await push(next++)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  const tookMs = performance.now() - startedAtMs
  const cpuMicroseconds = ((await cpuOf(cluster)) - before) / together

  for (const { listener, channel } of shared ? posts : [one]) {
    await (shared ? listener.sunsubscribe(channel) : listener.unsubscribe(channel))
    listener.removeAllListeners(shared ? 'smessage' : 'message')
  }
  return { latenciesMs, perSecond: (together / tookMs) * 1000, cpuMicroseconds }
}

/** The CPU time of all servers so far, in microseconds. */
async function cpuOf(cluster: RedisCluster): Promise<number> {
  const infos = await Promise.all(cluster.nodes.map(({ operator }) => operator.info('cpu')))
  return infos
    .flatMap((info) => [...info.matchAll(/^used_cpu_(?:user|sys):([\d.]+)/gm)])
    .reduce((sum, [, seconds]) => sum + Number(seconds) * 1e6, 0)
}

function rowOf(subject: Way, rounds: readonly Round[]): Row {
  const latenciesMs = rounds.flatMap((round) => round.latenciesMs)
  return {
    workload: 'Cluster, telling a waiter',
    subject,
    figures: {
      'p50 ms': quantile(latenciesMs, 0.5),
      'p99 ms': quantile(latenciesMs, 0.99),
      [`per second, ${AT_ONCE} at once`]: median(rounds.map(({ perSecond }) => perSecond)),
      'CPU µs each': median(rounds.map(({ cpuMicroseconds }) => cpuMicroseconds)),
    },
  }
}

export const PUSHES: Bench = { run }
