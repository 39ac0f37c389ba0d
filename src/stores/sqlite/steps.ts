import type { ClaimReply, ReleaseReply, RenewReply, Unknown } from '../../core/store.ts'
import { unknownAnswer } from '../../core/store.ts'
import { UnsupportedError } from '../../errors.ts'
import {
  type Answer,
  type BatchOutcome,
  type Claim,
  type ClaimAnswer,
  type Clock,
  type Event,
  heldBack,
  indexedStep,
  type KeyNotification,
  refused,
  releaseOf,
  renewOf,
} from '../../model/index.ts'
import { ContendedKeys } from '../shared/contended-keys.ts'
import { SQL_RULES } from '../shared/sql.ts'

import type { SqliteKeyIndex } from './key-index.ts'
import type { SqliteKeys } from './keys.ts'
import type { TransactionRunner } from './transaction-runner.ts'

type ClaimRef = Pick<Claim, 'key' | 'id' | 'ttlMs'>

/** An event of the model, and the single statement that replaces it in simple cases and answers null in others. */
interface Plan<C extends ClaimRef, E extends Event> {
  /** Adjacent claims of one group are granted all or none. */
  readonly group?: (claim: C) => string | null
  event(claim: C): E
  quick(claim: C, clock: Clock): Answer<E> | null
  /** The answer to a claim on a key in a newer format, which affects no other claim. */
  newer(error: UnsupportedError): Answer<E> | Unknown
}

/** Applies the steps of the model to claims and writes the outcome, in the cheapest way with the same result. */
export class Steps {
  private readonly runner: TransactionRunner
  private readonly keys: SqliteKeys
  private readonly contended = new ContendedKeys()

  constructor(runner: TransactionRunner, keys: SqliteKeys) {
    this.runner = runner
    this.keys = keys
  }

  claim(claims: readonly Claim[], inbox: string | null): BatchOutcome<ClaimReply> {
    const batch = this.run(claims, {
      group: (claim: Claim) => claim.group,
      event: (claim) => ({ kind: 'claim', claim, inbox }) as const,
      quick: (claim, clock) =>
        this.contended.has(claim.key) ? null : this.keys.tryClaim(claim, inbox, clock),
      newer: ({ message }) => refused('format', message),
    })
    for (const [index, { key }] of claims.entries())
      this.contended.note(key, batch.answers[index] as ClaimAnswer)
    return batch
  }

  renew(claims: readonly ClaimRef[]): BatchOutcome<RenewReply> {
    return this.run(claims, {
      event: renewOf,
      quick: ({ key, id, ttlMs }, { nowMs }) =>
        this.contended.has(key) ? null : this.keys.tryRenew(key, id, ttlMs, nowMs),
      // Not lost: the key in the newer format may well have this hold.
      newer: unknownAnswer,
    })
  }

  release(claims: readonly ClaimRef[]): BatchOutcome<ReleaseReply> {
    return this.run(claims, {
      event: releaseOf,
      quick: ({ key, id }, { nowMs }) =>
        this.contended.has(key) ? null : this.keys.tryRelease(key, id, nowMs),
      newer: unknownAnswer,
    })
  }

  /** An operator's event. It concerns one key, so a newer format fails the call. */
  event<E extends Event>(key: string, event: E): BatchOutcome<Answer<E> | Unknown> {
    return this.run([{ key, id: '', ttlMs: 0 }], {
      event: () => event,
      quick: () => null,
      newer: (error) => {
        throw error
      },
    })
  }

  private run<C extends ClaimRef, E extends Event>(
    claims: readonly C[],
    plan: Plan<C, E>,
  ): BatchOutcome<Answer<E> | Unknown> {
    const only = claims.length === 1 ? (claims[0] as C) : null
    const answer = only === null ? null : plan.quick(only, this.runner.now())
    if (answer !== null) return { answers: [answer], notifications: [] }
    return this.runner.transaction((clock) => {
      const run = new Run(this.runner, this.keys, clock, plan)
      const tryQuick = only === null
      for (let first = 0; first < claims.length; ) first = run.next(claims, first, tryQuick)
      return run.finish()
    })
  }
}

/** The steps of one transaction. */
class Run<C extends ClaimRef, E extends Event> {
  private readonly runner: TransactionRunner
  private readonly keys: SqliteKeys
  private readonly clock: Clock
  private readonly plan: Plan<C, E>
  private readonly answers: (Answer<E> | Unknown)[] = []
  private letters: KeyNotification[] = []
  private readonly opened = new Map<string, SqliteKeyIndex>()

  constructor(runner: TransactionRunner, keys: SqliteKeys, clock: Clock, plan: Plan<C, E>) {
    this.runner = runner
    this.keys = keys
    this.clock = clock
    this.plan = plan
  }

  /** Serves the claim at `first`, or the group that begins there. Returns the index of the next one. */
  next(claims: readonly C[], first: number, tryQuick: boolean): number {
    const claim = claims[first] as C
    const group = this.plan.group?.(claim) ?? null
    if (group === null) {
      // An index that was opened before would miss the write of a quick statement.
      const quick = tryQuick && !this.opened.has(claim.key) ? this.plan.quick(claim, this.clock) : null
      this.answers.push(quick ?? this.step(claim))
      return first + 1
    }
    let end = first + 1
    while (end < claims.length && this.plan.group?.(claims[end] as C) === group) end++
    this.stepTogether(claims.slice(first, end))
    return end
  }

  finish(): BatchOutcome<Answer<E> | Unknown> {
    this.save()
    return { answers: this.answers, notifications: this.letters }
  }

  private step(claim: C): Answer<E> | Unknown {
    const { key } = claim
    let index = this.opened.get(key)
    if (index === undefined) {
      const opened = this.keys.open(key, this.clock.nowMs)
      if (opened instanceof UnsupportedError) return this.plan.newer(opened)
      index = opened
      this.opened.set(key, index)
    }
    const { answer, notifications: letters } = indexedStep(
      index,
      this.plan.event(claim),
      this.clock,
      SQL_RULES,
    )
    for (const letter of letters) this.letters.push({ ...letter, key })
    return answer
  }

  /** Grants all claims of a group, or changes nothing. */
  private stepTogether(claims: readonly C[]): void {
    this.save()
    const { letters } = this
    this.letters = []
    const granted: (Answer<E> | Unknown)[] = []
    const done = this.runner.attempt(() => {
      for (const claim of claims) {
        const answer = this.step(claim)
        if ((answer as ClaimAnswer).kind !== 'granted') {
          for (const other of claims)
            this.answers.push(other === claim ? answer : (heldBack(this.clock) as Answer<E>))
          return false
        }
        granted.push(answer)
      }
      this.save()
      return true
    })
    this.opened.clear()
    this.letters = done ? [...letters, ...this.letters] : letters
    if (done) this.answers.push(...granted)
  }

  private save(): void {
    for (const index of this.opened.values()) this.keys.save(index, this.clock.nowMs)
    this.opened.clear()
  }
}
