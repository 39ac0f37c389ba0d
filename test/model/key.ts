import {
  type Answer,
  type Claim,
  type ClaimAnswer,
  EMPTY,
  type Event,
  type KeyState,
  type Notification,
  type Rules,
  step,
} from '../../src/model/index.ts'
import { claimOf } from './arbitraries.ts'
import { claimEvent, deepFreeze } from './explore.ts'

const START_US = 1_700_000_000_000_000

/** One key and its clock, for examples that read as a story. Offers live for 10 ms, tokens for a minute. */
export class Key {
  state: KeyState = EMPTY
  nowMs = 0
  /** How far the wall clock is off. */
  skewUs = 0
  /** The notifications of the last step, with their inboxes. */
  notifications: readonly Notification[] = []
  readonly rules: Rules = { offerMs: 10, keepSeqMs: 60_000, mostOffers: Number.POSITIVE_INFINITY }

  send<E extends Event>(event: E): Answer<E> {
    const clock = { nowMs: this.nowMs, stampUs: START_US + this.nowMs * 1000 + this.skewUs }
    const outcome = step(this.state, event, clock, this.rules)
    this.state = deepFreeze(outcome.state)
    this.notifications = outcome.notifications
    return outcome.answer
  }

  claim(id: string, rest: Partial<Claim> = {}): ClaimAnswer {
    return this.send(claimEvent(claimOf(id, rest)))
  }

  renew(id: string, ttlMs = 100) {
    return this.send({ kind: 'renew', id, ttlMs })
  }

  release(id: string) {
    return this.send({ kind: 'release', id })
  }

  evict(token: bigint | null = null) {
    return this.send({ kind: 'evict', token })
  }

  revoke(token: bigint | null = null) {
    return this.send({ kind: 'revoke', token })
  }

  /** Lets time pass and the store look at the key. */
  pass(ms: number): void {
    this.nowMs += ms
    this.send({ kind: 'tick' })
  }

  get holders(): string[] {
    return this.state.holds.flatMap((hold) => hold.members.map((member) => member.id))
  }

  get queue(): string[] {
    return this.state.queue.map((waiter) => waiter.claim.id)
  }

  /** The last step's notifications as `inbox: kind id`. */
  get told(): string[] {
    return this.notifications.map(({ inbox, notice }) => `${inbox}: ${notice.kind} ${notice.id}`)
  }
}

export function tokenIn(answer: ClaimAnswer): bigint {
  if (answer.kind !== 'granted' || answer.token === null)
    throw new Error(`${answer.kind}, so there is no token`)
  return answer.token
}
