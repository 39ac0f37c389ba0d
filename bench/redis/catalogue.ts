import { oursIoredis, oursNodeRedis } from './ours.ts'
import { rawIoredis, rawNodeRedis } from './raw.ts'
import type { Entry } from './subject.ts'

/** What every ratio is to. */
export const BASE = 'raw ioredis'

const OURS = ['evalsha', 'eval']
const RAW = ['set', 'evalsha', 'eval']

/** Everything that is measured, by the name that it has in the tables. */
export const CATALOGUE: Readonly<Record<string, Entry>> = {
  [BASE]: { role: 'raw', sends: RAW, open: rawIoredis },
  'raw node-redis': { role: 'raw', sends: RAW, open: rawNodeRedis },
  holdfast: { role: 'ours', sends: OURS, open: (url) => oursIoredis(url) },
  'holdfast, background release': {
    role: 'ours',
    sends: OURS,
    open: (url) => oursIoredis(url, 'background'),
  },
  'holdfast (node-redis)': { role: 'ours', sends: OURS, open: (url) => oursNodeRedis(url) },
  'holdfast (node-redis), background release': {
    role: 'ours',
    sends: OURS,
    open: (url) => oursNodeRedis(url, 'background'),
  },
}

export function entryOf(subject: string): Entry {
  const entry = CATALOGUE[subject]
  if (entry === undefined) throw new Error(`No such subject: ${subject}`)
  return entry
}
