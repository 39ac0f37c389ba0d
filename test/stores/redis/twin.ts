import assert from 'node:assert/strict'
import type { Redis } from 'ioredis'
import type { StoreNotice } from '../../../src/core/store.ts'
import type { Claim, Clock, Event, KeyNotification, KeyState, Rules } from '../../../src/model/index.ts'
import { EMPTY, seqOf } from '../../../src/model/index.ts'
import {
  claimAnswers,
  claimText,
  idOf,
  releaseAnswers,
  renewAnswers,
  renewText,
} from '../../../src/stores/redis/codec.ts'
import { parseNotification } from '../../../src/stores/redis/inbox.ts'
import { lockName } from '../../../src/stores/redis/names.ts'
import { RULES as REAL_RULES } from '../../../src/stores/redis/rules.ts'
import { SCRIPTS } from '../../../src/stores/redis/scripts.generated.ts'
import { lockStateOf, type RawLock } from '../../../src/stores/redis/state.ts'
import { type Call, load, perform, staged } from './staged.ts'

/** Short offers, so that plans see them end. Redis itself forgets a sequence number, so here none is forgotten. */
export const RULES: Rules = { offerMs: 8, keepSeqMs: 86_400_000, mostOffers: REAL_RULES.mostOffers }

/** One thing that happens at one moment, to one key or to several. */
export type Happening =
  | { readonly kind: 'claim'; readonly claims: readonly Claim[]; readonly inbox: string }
  | { readonly kind: 'renew' | 'release'; readonly claims: readonly Claim[] }
  | { readonly kind: 'evict' | 'revoke'; readonly key: string; readonly token: bigint | null }
  | { readonly kind: 'tick'; readonly key: string }

/** The effect of a happening on the server. */
export interface Effect {
  readonly answers: readonly unknown[]
  readonly notifications: readonly (StoreNotice & { readonly inbox: string })[]
  readonly states: readonly KeyState[]
}

const TEST_SCRIPTS = {
  attempt: staged('attempt', SCRIPTS.attempt, RULES.offerMs),
  renew: staged('renew', SCRIPTS.renew, RULES.offerMs),
  release: staged('release', SCRIPTS.release, RULES.offerMs),
  evict: staged('evict', SCRIPTS.evict, RULES.offerMs),
}

/** The server's side of a comparison. Happenings are sent in one pipeline and answered together. */
export class Twin {
  private readonly redis: Redis

  constructor(redis: Redis) {
    this.redis = redis
  }

  load(): Promise<void> {
    return load(this.redis, [...Object.values(TEST_SCRIPTS), SCRIPTS.read])
  }

  async play(
    moments: readonly { happening: Happening; clock: Clock }[],
    keys: readonly string[],
  ): Promise<Effect[]> {
    const calls = moments.map(({ happening, clock }) => ({ ...commandOf(happening), clock }))
    const outcomes = await perform<RawLock>(this.redis, calls, SCRIPTS.read, keys.map(lockName), [
      '1000',
      '0',
    ])
    return outcomes.map(({ reply, notifications, states }, place) => ({
      answers: answersOf((moments[place] as { happening: Happening }).happening, reply),
      notifications: notifications.map(addressedNotification),
      states: states.map((raw, index) => lockStateOf(keys[index] as string, raw)),
    }))
  }
}

/** The part of a model state that the server stores: nothing expired, and no expiry of the sequence number. */
export function keptOf(state: KeyState = EMPTY, nowMs: number): KeyState {
  const closedUntilMs = state.closedUntilMs > nowMs ? state.closedUntilMs : 0
  return { ...state, closedUntilMs, seqKeptUntilMs: 0 }
}

export function addressed({ inbox, notice, key }: KeyNotification): object {
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

function commandOf(happening: Happening): Omit<Call, 'clock'> {
  switch (happening.kind) {
    case 'claim': {
      const { claims, inbox } = happening
      return command(
        'attempt',
        claims,
        claims.map((claim) => claimText(claim, inbox)),
      )
    }
    case 'renew':
      return command('renew', happening.claims, happening.claims.map(renewText))
    case 'release':
      return command('release', happening.claims, happening.claims.map(idOf))
    case 'tick':
      // To ask a holder that cannot be there is to do nothing but count the time.
      return { script: TEST_SCRIPTS.evict, names: [lockName(happening.key)], args: ['ask', '0', '0'] }
    default: {
      const seq = happening.token === null ? '' : String(seqOf(happening.token))
      const args = [happening.kind === 'revoke' ? 'ask' : 'evict', seq, '0']
      return { script: TEST_SCRIPTS.evict, names: [lockName(happening.key)], args }
    }
  }
}

function command(script: keyof typeof TEST_SCRIPTS, claims: readonly Claim[], args: string[]) {
  return { script: TEST_SCRIPTS[script], names: claims.map(({ key }) => lockName(key)), args }
}

function answersOf(happening: Happening, reply: unknown): readonly unknown[] {
  switch (happening.kind) {
    case 'claim':
      return claimAnswers(reply)
    case 'renew':
      return renewAnswers(reply, happening.claims.length)
    case 'release':
      return releaseAnswers(reply, happening.claims.length)
    case 'tick':
      return [null]
    default: {
      const [, ...labels] = reply as readonly unknown[]
      return [{ kind: labels.length === 0 ? 'absent' : 'evicted', labels }]
    }
  }
}

function addressedNotification({
  inbox,
  text,
}: {
  inbox: string
  text: string
}): StoreNotice & { inbox: string } {
  const notice = parseNotification(text)
  assert.ok(notice !== null, `a notification that nobody can read: ${JSON.stringify(text)}`)
  return { ...notice, inbox }
}
