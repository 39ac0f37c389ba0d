import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { StoreNotice } from '../../../src/core/store.ts'
import type { Claim, Clock, Event, KeyLetter, KeyState, Rules } from '../../../src/model/index.ts'
import { EMPTY, seqOf } from '../../../src/model/index.ts'
import {
  claimAnswers,
  claimTexts,
  idOf,
  releaseAnswers,
  renewAnswers,
  renewText,
} from '../../../src/stores/redis/codec.ts'
import { noticeOf } from '../../../src/stores/redis/letters.ts'
import { lockName } from '../../../src/stores/redis/names.ts'
import { SCRIPTS } from '../../../src/stores/redis/scripts.generated.ts'
import { type RawState, stateOf } from '../../../src/stores/redis/state.ts'

/** Short offers, so that plans see them end. Redis itself forgets a sequence number, so here none is forgotten. */
export const RULES: Rules = { offerMs: 8, keepSeqMs: 86_400_000 }

type ScriptName = 'attempt' | 'renew' | 'release' | 'evict'

/** One thing that happens at one moment, to one key or to several. */
export type Happening =
  | { readonly kind: 'claim'; readonly claims: readonly Claim[]; readonly inbox: string }
  | { readonly kind: 'renew' | 'release'; readonly claims: readonly Claim[] }
  | { readonly kind: 'evict' | 'revoke'; readonly key: string; readonly token: bigint | null }
  | { readonly kind: 'tick'; readonly key: string }

/** What the server did with a happening. */
export interface Effect {
  readonly answers: readonly unknown[]
  readonly letters: readonly (StoreNotice & { readonly inbox: string })[]
  readonly states: readonly KeyState[]
}

/**
 * The scripts of the store with another clock and another post office: they take the time as their last two arguments
 * and put their letters into a list. Everything else is what users run.
 */
const TEST_SCRIPTS = {
  attempt: testScript('attempt'),
  renew: testScript('renew'),
  release: testScript('release'),
  evict: testScript('evict'),
}

/** The server's side of a comparison. Happenings are sent in one pipeline and answered together. */
export class Twin {
  private readonly redis: Redis

  constructor(redis: Redis) {
    this.redis = redis
  }

  async load(): Promise<void> {
    for (const { source } of [...Object.values(TEST_SCRIPTS), SCRIPTS.read])
      await this.redis.call('SCRIPT', ['LOAD', source])
  }

  async play(
    happenings: readonly { happening: Happening; clock: Clock }[],
    keys: readonly string[],
  ): Promise<Effect[]> {
    const pipeline = this.redis.pipeline()
    for (const { happening, clock } of happenings) {
      const { script, names, args } = commandOf(happening)
      const time = [String(clock.nowMs), String(clock.stampUs)]
      pipeline.call('EVALSHA', [TEST_SCRIPTS[script].sha, String(names.length), ...names, ...args, ...time])
      pipeline.call('LRANGE', ['letters', '0', '-1'])
      pipeline.call('DEL', ['letters'])
      pipeline.call('EVALSHA', [SCRIPTS.read.sha, String(keys.length), ...keys.map(lockName)])
    }
    const replies = (await pipeline.exec()) ?? []
    for (const [error] of replies) if (error !== null) throw error
    const effects: Effect[] = []
    for (let index = 0; index < happenings.length; index++) {
      const [answered, letters, , read] = replies.slice(index * 4, index * 4 + 4).map(([, reply]) => reply)
      const [, ...states] = read as [number, ...RawState[]]
      effects.push({
        answers: answersOf((happenings[index] as { happening: Happening }).happening, answered),
        letters: (letters as string[]).map(letterOf),
        states: states.map((raw, place) => stateOf(keys[place] as string, raw)),
      })
    }
    return effects
  }
}

/** What stands in the server of a state of the model: neither what is over nor when it will be forgotten. */
export function keptOf(state: KeyState = EMPTY, nowMs: number): KeyState {
  const closedUntilMs = state.closedUntilMs > nowMs ? state.closedUntilMs : 0
  return { ...state, closedUntilMs, seqKeptUntilMs: 0 }
}

export function addressed({ inbox, notice, key }: KeyLetter): object {
  return { ...notice, key, inbox }
}

/** Claims of the model in the shape of the contract: an event of the model knows only ids. */
export function happeningOf(key: string, event: Event): Happening {
  switch (event.kind) {
    case 'claim':
      return { kind: 'claim', claims: [{ ...event.claim, key }], inbox: event.inbox ?? '' }
    case 'renew':
      return { kind: 'renew', claims: [{ key, id: event.id, ttlMs: event.ttlMs } as Claim] }
    case 'release':
      return { kind: 'release', claims: [{ key, id: event.id } as Claim] }
    case 'tick':
      return { kind: 'tick', key }
    default:
      return { kind: event.kind, key, token: event.token }
  }
}

function commandOf(happening: Happening): { script: ScriptName; names: string[]; args: string[] } {
  switch (happening.kind) {
    case 'claim': {
      const { claims, inbox } = happening
      return command('attempt', claims, claimTexts(claims, inbox))
    }
    case 'renew':
      return command('renew', happening.claims, happening.claims.map(renewText))
    case 'release':
      return command('release', happening.claims, happening.claims.map(idOf))
    case 'tick':
      // To ask a holder that cannot be there is to do nothing but count the time.
      return { script: 'evict', names: [lockName(happening.key)], args: ['ask', '0'] }
    default: {
      const seq = happening.token === null ? '' : String(seqOf(happening.token))
      const args = [happening.kind === 'revoke' ? 'ask' : 'evict', seq]
      return { script: 'evict', names: [lockName(happening.key)], args }
    }
  }
}

function command(script: ScriptName, claims: readonly Claim[], args: string[]) {
  return { script, names: claims.map(({ key }) => lockName(key)), args }
}

function answersOf(happening: Happening, reply: unknown): readonly unknown[] {
  switch (happening.kind) {
    case 'claim':
      return claimAnswers(reply, happening.claims.length)
    case 'renew':
      return renewAnswers(reply, happening.claims.length)
    case 'release':
      return releaseAnswers(reply, happening.claims.length)
    case 'tick':
      return [null]
    default: {
      const labels = reply as readonly unknown[]
      return [{ kind: labels.length === 0 ? 'absent' : 'evicted', labels }]
    }
  }
}

function letterOf(text: string): StoreNotice & { inbox: string } {
  const end = text.indexOf('\0')
  const notice = noticeOf(text.slice(end + 1))
  assert.ok(notice !== null, `a letter that nobody can read: ${JSON.stringify(text)}`)
  return { ...notice, inbox: text.slice(0, end) }
}

function testScript(name: ScriptName): { source: string; sha: string } {
  let { source }: { source: string } = SCRIPTS[name]
  const replace = (real: string, test: string) => {
    assert.equal(source.split(real).length, 2, `${name}.lua must contain once: ${real}`)
    source = source.replace(real, () => test)
  }
  replace("local time = call('TIME')\n", '')
  replace(
    "local stampText = time[1] .. sub('00000' .. time[2], -6)",
    "local stampText = format('%016.0f', ARGV[#ARGV])",
  )
  replace('local nowText = sub(stampText, 1, 13)', "local nowText = format('%013.0f', ARGV[#ARGV - 1])")
  replace('local OFFER = 1000\n', `local OFFER = ${RULES.offerMs}\n`)
  replace(
    "call('PUBLISH', 'holdfast:inbox:' .. letter[1], letter[2])",
    "call('RPUSH', 'letters', letter[1] .. '\\0' .. letter[2])",
  )
  return { source, sha: createHash('sha1').update(source).digest('hex') }
}
