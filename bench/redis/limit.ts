import { execFileSync } from 'node:child_process'
import { Redis } from 'ioredis'
import type { Claim } from '../../src/model/index.ts'
import { claimText } from '../../src/stores/redis/codec.ts'
import { lockName } from '../../src/stores/redis/names.ts'
import { SCRIPTS } from '../../src/stores/redis/scripts.generated.ts'
import type { Measured } from './rounds.ts'
import type { Session } from './session.ts'

/** redis-benchmark puts twelve digits in its place, each time others. */
const RANDOM = '__rand_int__'
const CLAIM: Claim = {
  key: '',
  id: 'A'.repeat(22),
  mode: { kind: 'exclusive' },
  ttlMs: 60_000,
  queue: true,
  owner: null,
  actor: null,
  label: 'benchmark',
  meta: null,
  lockDelayMs: 0,
  group: null,
  replaces: null,
}

/** The server's own limit with our scripts, one lock per call. */
export async function serverLimit(session: Session, workload: string): Promise<Measured> {
  const calls = session.size === 'tiny' ? 2_000 : 100_000
  // Four times as many keys as calls, so that nearly every call finds its key as it expects it.
  const keys = 4 * calls
  const client = new Redis(session.addresses.redis)
  const [attempt, release] = [await load(client, 'attempt'), await load(client, 'release')]
  const acquired = rateOf(session, calls, keys, attempt, CLAIM_TEXT)
  await client.flushdb()
  await hold(client, attempt, keys)
  const released = rateOf(session, calls, keys, release, CLAIM.id)
  await client.flushdb()
  await client.quit()
  const both = 1 / (1 / acquired + 1 / released)
  const row = (subject: string, perSecond: number) => ({
    workload,
    subject,
    figures: { 'per second': perSecond },
  })
  return {
    rows: [row('acquire', acquired), row('release', released), row(PAIR, both)],
    overlaps: 0,
  }
}

export const PAIR = 'acquire and release'

async function load(client: Redis, name: keyof typeof SCRIPTS): Promise<string> {
  return (await client.script('LOAD', SCRIPTS[name].source)) as string
}

const CLAIM_TEXT = claimText(CLAIM, 'inbox')

/** Holds every key that a release may come for. */
async function hold(client: Redis, attempt: string, keys: number): Promise<void> {
  const perCall = 500
  for (let from = 0; from < keys; from += perCall) {
    const names = Array.from({ length: perCall }, (_, index) =>
      lockName(String(from + index).padStart(12, '0')),
    )
    await client.evalsha(attempt, perCall, ...names, ...names.map(() => CLAIM_TEXT))
  }
}

function rateOf(session: Session, calls: number, keys: number, script: string, text: string): number {
  const load = ['-n', String(calls), '-r', String(keys), '-P', '16', '-c', '50', '--csv']
  const command = ['EVALSHA', script, '1', lockName(RANDOM), text]
  const output = execFileSync('redis-benchmark', ['-p', String(session.port), ...load, ...command], {
    encoding: 'utf8',
  })
  // A line of names, then one of values in quotation marks: the command, calls per second, and latencies.
  const [, perSecond] = output.trim().split('\n').at(-1)?.split('","') ?? []
  return Number(perSecond)
}
