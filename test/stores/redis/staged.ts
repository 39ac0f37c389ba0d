import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { Clock } from '../../../src/model/index.ts'

interface Script {
  readonly source: string
  readonly sha: string
}

export interface Call {
  readonly script: Script
  readonly names: readonly string[]
  readonly args: readonly string[]
  readonly clock: Clock
}

/** The effect of a call: its reply, its notifications, and the states in the server afterwards. */
export interface Outcome<State> {
  readonly reply: unknown
  readonly notifications: readonly { readonly inbox: string; readonly text: string }[]
  readonly states: readonly State[]
}

/**
 * A script with another clock and another outbox: it takes the time as its last two arguments and puts its notifications into a list.
 * Everything else is as users run it.
 */
export function staged(name: string, { source }: { readonly source: string }, offerMs?: number): Script {
  let text = source
  const replace = (real: string, test: string) => {
    assert.equal(text.split(real).length, 2, `${name}.lua must contain once: ${real}`)
    text = text.replace(real, () => test)
  }
  replace("local time = call('TIME')\n", '')
  replace('local stamp = time[1] * 1000000 + time[2]\n', 'local stamp = tonumber(ARGV[#ARGV])\n')
  replace('local now = math.floor(stamp / 1000)\n', 'local now = tonumber(ARGV[#ARGV - 1])\n')
  if (text.includes('for at = 2, #ARGV do')) replace('for at = 2, #ARGV do', 'for at = 2, #ARGV - 2 do')
  if (offerMs !== undefined) replace('local OFFER = 1000\n', `local OFFER = ${offerMs}\n`)
  const publish = "call('PUBLISH', 'holdfast:inbox:' .. notification[1], notification[2])"
  text = text.replaceAll(
    publish,
    () => "call('RPUSH', 'notifications', notification[1] .. '\\0' .. notification[2])",
  )
  assert.ok(
    text.includes('RPUSH') && !text.includes('PUBLISH'),
    `${name}.lua must publish only by: ${publish}`,
  )
  return scriptOf(text)
}

export function scriptOf(source: string): Script {
  return { source, sha: createHash('sha1').update(source).digest('hex') }
}

export async function load(redis: Redis, scripts: readonly Script[]): Promise<void> {
  for (const { source } of scripts) await redis.call('SCRIPT', ['LOAD', source])
}

/** The calls in one pipeline, each with what it did; `read` shows what stands under `names`. */
export async function perform<State>(
  redis: Redis,
  calls: readonly Call[],
  read: { readonly sha: string },
  names: readonly string[],
  readArgs: readonly string[] = [],
): Promise<Outcome<State>[]> {
  const pipeline = redis.pipeline()
  for (const { script, names: touched, args, clock } of calls) {
    const time = [String(clock.nowMs), String(clock.stampUs)]
    pipeline.call('EVALSHA', [script.sha, String(touched.length), ...touched, ...args, ...time])
    pipeline.call('LRANGE', ['notifications', '0', '-1'])
    pipeline.call('DEL', ['notifications'])
    pipeline.call('EVALSHA', [read.sha, String(names.length), ...names, ...readArgs])
  }
  const replies = (await pipeline.exec()) ?? []
  for (const [error] of replies) if (error !== null) throw error
  return calls.map((_, place) => {
    const [reply, notifications, , seen] = replies.slice(place * 4, place * 4 + 4).map(([, value]) => value)
    const [, ...states] = seen as [number, ...State[]]
    return { reply, notifications: (notifications as string[]).map(addressedOf), states }
  })
}

function addressedOf(notification: string): { inbox: string; text: string } {
  const end = notification.indexOf('\0')
  return { inbox: notification.slice(0, end), text: notification.slice(end + 1) }
}
