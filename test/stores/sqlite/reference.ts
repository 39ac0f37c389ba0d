import type { StoreNotice } from '../../../src/core/store.ts'
import {
  type BatchOutcome,
  type Claim,
  type Clock,
  claimBatch,
  EMPTY,
  type KeyState,
  type Rules,
  releaseOf,
  renewOf,
  step,
  stepBatch,
  viewOf,
} from '../../../src/model/index.ts'
import { SQL_RULES } from '../../../src/stores/shared/sql.ts'

/** The pure model in place of the store, with an address for each of the two processes. */
export class Reference {
  private readonly states = new Map<string, KeyState>()
  readonly told: StoreNotice[][] = [[], []]
  private readonly rules: Rules

  constructor(rules = SQL_RULES) {
    this.rules = rules
  }

  get(key: string): KeyState {
    return this.states.get(key) ?? EMPTY
  }

  put(key: string, state: KeyState): void {
    this.states.set(key, state)
  }

  attempt(claims: readonly Claim[], who: number, clock: Clock): readonly unknown[] {
    return this.deliver(claimBatch(this, claims, String(who), clock, this.rules))
  }

  renew(claims: readonly Claim[], clock: Clock): readonly unknown[] {
    return this.deliver(stepBatch(this, claims, renewOf, clock, this.rules))
  }

  release(claims: readonly Claim[], clock: Clock): readonly unknown[] {
    return this.deliver(stepBatch(this, claims, releaseOf, clock, this.rules))
  }

  evict(key: string, token: bigint | null, ask: boolean, clock: Clock): unknown {
    const event = { kind: ask ? 'revoke' : 'evict', token } as const
    return this.deliver(stepBatch(this, [{ key, id: '', ttlMs: 0 }], () => event, clock, this.rules))[0]
  }

  view(key: string, clock: Clock) {
    return viewOf(key, step(this.get(key), { kind: 'tick' }, clock, this.rules).state, clock.nowMs)
  }

  private deliver<A>({ answers, notifications: letters }: BatchOutcome<A>): readonly A[] {
    for (const { inbox, notice, key } of letters)
      if (inbox !== null) this.told[Number(inbox)]?.push({ ...notice, key })
    return answers
  }
}

/**
 * The tokens that one side has shown. Both sides make them from stamps of their own, so they agree when their order
 * does: the n-th of a key on one side has to be wherever the n-th is on the other.
 */
export class Tokens {
  private readonly seen = new Map<string, bigint[]>()

  note(key: string, shown: unknown): void {
    const known = this.seen.get(key) ?? []
    this.seen.set(key, known)
    JSON.stringify(shown, (_, part) => {
      if (typeof part !== 'bigint') return part
      if (!known.includes(part)) known.push(part)
      return null
    })
    known.sort((one, other) => (one < other ? -1 : 1))
  }

  /** The highest but `back`; null for any. */
  pick(key: string, back: number | null): bigint | null {
    return back === null ? null : (this.seen.get(key)?.at(-1 - back) ?? null)
  }

  /** The value with each token replaced by its rank. */
  ranked(key: string, shown: unknown): unknown {
    const places = this.seen.get(key) ?? []
    const text = JSON.stringify(shown, (_, part) =>
      typeof part === 'bigint' ? `token ${places.indexOf(part)}` : part,
    )
    return JSON.parse(text)
  }
}
