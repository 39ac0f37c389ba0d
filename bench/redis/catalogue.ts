import { olderEntry } from '../older.ts'
import { olderIoredis, oursIoredis, oursNodeRedis } from './ours.ts'
import {
  liveMutex,
  redisSemaphore,
  redlock4,
  redlock5,
  type Settings,
  sesamecare,
  universalIoredis,
  universalNodeRedis,
  verrou,
} from './peers.ts'
import { rawIoredis, rawNodeRedis } from './raw.ts'
import type { Addresses, Entry, RedisSubject } from './subject.ts'

/** The subject that every ratio refers to. */
export const BASE = 'raw ioredis'
export const OURS = 'holdfast'
const OURS_NODE_REDIS = 'holdfast (node-redis)'
export const OURS_BACKGROUND = 'holdfast, background release'

const RAW = ['set', 'evalsha', 'eval']
const SCRIPTS = ['evalsha', 'eval']

const PEERS: Readonly<Record<string, Peer>> = {
  'redlock 4': { sends: SCRIPTS, open: redlock4 },
  'redlock 5': { sends: SCRIPTS, open: redlock5 },
  '@sesamecare-oss/redlock': { sends: SCRIPTS, open: sesamecare },
  'redis-semaphore': { sends: RAW, open: redisSemaphore },
  '@verrou/core': { sends: RAW, open: verrou },
  'redlock-universal': { sends: RAW, open: universalIoredis },
}

interface Peer {
  readonly sends: readonly string[]
  open(addresses: Addresses, settings: Settings): Promise<RedisSubject>
}

/** Everything that is measured, by the name that it has in the tables. */
export const CATALOGUE: Readonly<Record<string, Entry>> = {
  [BASE]: { role: 'raw', sends: RAW, open: rawIoredis },
  'raw node-redis': { role: 'raw', sends: RAW, open: rawNodeRedis },
  [OURS]: { role: 'ours', sends: SCRIPTS, open: oursIoredis },
  ...olderEntry<Entry>({ role: 'older', sends: SCRIPTS, open: olderIoredis }),
  [OURS_NODE_REDIS]: { role: 'ours', sends: SCRIPTS, open: oursNodeRedis },
  [OURS_BACKGROUND]: {
    role: 'ours',
    only: 'sequential',
    sends: SCRIPTS,
    open: (addresses) => oursIoredis(addresses, 'background'),
  },
  [`${OURS_NODE_REDIS}, background release`]: {
    role: 'ours',
    only: 'sequential',
    sends: SCRIPTS,
    open: (addresses) => oursNodeRedis(addresses, 'background'),
  },
  ...peers('tuned', (name) => name),
  'redlock-universal (node-redis)': {
    role: 'peer',
    sends: RAW,
    open: (addresses) => universalNodeRedis(addresses, 'tuned'),
  },
  'live-mutex (its own broker)': { role: 'peer', sends: [], open: liveMutex },
  ...peers('stock', (name) => `${name}, stock`),
  'no lock, one task alone': { role: 'limit', only: 'processes', sends: [], open: noLock },
}

async function noLock(): Promise<RedisSubject> {
  return { run: (_key, work) => work(), close: async () => {} }
}

/** As they are set up by themselves they give up soon or starve some: one workload shows it. */
function peers(settings: Settings, nameOf: (name: string) => string): Record<string, Entry> {
  return Object.fromEntries(
    Object.entries(PEERS).map(([name, { sends, open }]) => [
      nameOf(name),
      {
        role: 'peer',
        sends,
        ...(settings === 'stock' && { only: 'stock' as const }),
        open: (addresses) => open(addresses, settings),
      } satisfies Entry,
    ]),
  )
}

export function entryOf(subject: string): Entry {
  const entry = CATALOGUE[subject]
  if (entry === undefined) throw new Error(`No such subject: ${subject}`)
  return entry
}
