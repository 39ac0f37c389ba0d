import assert from 'node:assert/strict'
import type { RenewReply, Store, StoreNotice, Unknown } from '../../core/store.ts'
import { LockError, StoreError } from '../../errors.ts'
import type { Claim, ClaimAnswer, Granted, ReleaseAnswer } from '../../model/index.ts'
import type { Scene } from './scene.ts'

/** The longest time for which a store may not know the outcome of a call. */
const UNKNOWN_MS = 2000

export type ClaimChanges = Partial<Omit<Claim, 'key'>>

/** A grant with its claim. */
export interface GrantedClaim {
  readonly claim: Claim
  readonly token: bigint | null
  readonly spare: number
}

/** A process that uses the contract directly, without the facade. */
export class Party {
  readonly store: Store
  readonly label: string
  /** All notices that the store has pushed. */
  readonly heard: StoreNotice[] = []
  private readonly scene: Scene

  constructor(store: Store, label: string, scene: Scene) {
    this.store = store
    this.label = label
    this.scene = scene
    scene.onEnd(store.notices((notice) => this.heard.push(notice)))
  }

  /** An exclusive claim that does not queue and lives for a minute, unless the case overrides that. */
  claim(key: string, changes: ClaimChanges = {}): Claim {
    // A queue position may become an offer, which lives for a second.
    if (changes.queue === true) this.scene.timed = true
    return {
      key,
      id: this.scene.runtime.newId(),
      mode: { kind: 'exclusive' },
      ttlMs: 60_000,
      queue: false,
      owner: null,
      actor: null,
      label: this.label,
      meta: null,
      lockDelayMs: 0,
      group: null,
      replaces: null,
      ...changes,
    }
  }

  async attemptAll(claims: readonly Claim[]): Promise<readonly ClaimAnswer[]> {
    const answers = await this.store.attempt(claims)
    assert.equal(answers.length, claims.length, 'attempt must answer every claim, in their order')
    return allKnown(answers)
  }

  /** A call without an answer, for example on a busy machine, has an unknown outcome: the same claims are sent again for a while. */
  async attemptEach(claims: readonly Claim[]): Promise<readonly ClaimAnswer[]> {
    const { runtime } = this.scene
    const giveUpAtMs = runtime.nowMs() + UNKNOWN_MS
    for (;;) {
      try {
        return await this.attemptAll(claims)
      } catch (error) {
        if (isAnswer(error) || runtime.nowMs() >= giveUpAtMs) throw error
        await this.scene.sleep(20)
      }
    }
  }

  async attempt(claim: Claim): Promise<ClaimAnswer> {
    return (await this.attemptEach([claim]))[0] as ClaimAnswer
  }

  async renewAll(claims: readonly Claim[]): Promise<readonly RenewReply[]> {
    const answers = await this.store.renew(claims)
    assert.equal(answers.length, claims.length, 'renew must answer every claim, in their order')
    return answers
  }

  /** A store that cannot tell, for example on a busy machine, is asked again for a while. */
  async renewEach(claims: readonly Claim[]): Promise<readonly RenewReply['kind'][]> {
    const { runtime } = this.scene
    const giveUpAtMs = runtime.nowMs() + UNKNOWN_MS
    for (;;) {
      const kinds = (await this.renewAll(claims)).map(({ kind }) => kind)
      if (!kinds.includes('unknown') || runtime.nowMs() >= giveUpAtMs) return kinds
      await this.scene.sleep(20)
    }
  }

  async renew(claim: Claim): Promise<RenewReply['kind']> {
    return (await this.renewEach([claim]))[0] as RenewReply['kind']
  }

  async releaseAll(claims: readonly Claim[]): Promise<readonly ReleaseAnswer[]> {
    const answers = await this.store.release(claims)
    assert.equal(answers.length, claims.length, 'release must answer every claim, in their order')
    return allKnown(answers)
  }

  async release(claim: Claim): Promise<ReleaseAnswer['kind']> {
    return ((await this.releaseAll([claim]))[0] as ReleaseAnswer).kind
  }

  /** Claims, and must be granted at once. */
  async take(
    key: string,
    changes: ClaimChanges = {},
    why = 'a free key must be granted',
  ): Promise<GrantedClaim> {
    const claim = this.claim(key, changes)
    return { claim, ...grantedOf(await this.attempt(claim), why) }
  }

  /** Claims, and must be blocked; with `queue: true` the claim is in the queue afterwards. */
  async block(
    key: string,
    changes: ClaimChanges = {},
    why = 'a held key must not be granted again',
  ): Promise<Claim> {
    const claim = this.claim(key, changes)
    const answer = await this.attempt(claim)
    assert.equal(answer.kind, 'blocked', why)
    return claim
  }

  /** Attempts a blocked claim again until it is granted; returns the grant and its time. */
  async askUntilGranted(
    claim: Claim,
    withinMs: number,
    why: string,
  ): Promise<GrantedClaim & { atMs: number }> {
    const { runtime } = this.scene
    const giveUpAtMs = runtime.nowMs() + withinMs
    for (;;) {
      const answer = await this.attempt(claim)
      const atMs = runtime.nowMs()
      if (answer.kind === 'granted') return { claim, token: answer.token, spare: answer.spare, atMs }
      assert.ok(atMs < giveUpAtMs, `${why}: still ${describeAnswer(answer)} after ${withinMs} ms`)
      await this.scene.sleep(20)
    }
  }
}

function isAnswer(error: unknown): boolean {
  if (error instanceof assert.AssertionError) return true
  return error instanceof LockError && !(error instanceof StoreError)
}

export function grantedOf(answer: ClaimAnswer | undefined, why: string): Granted {
  assert.ok(answer?.kind === 'granted', `${why}, but it was ${describeAnswer(answer)}`)
  return answer
}

export function tokenOfGrant(taken: { readonly token: bigint | null }): bigint {
  assert.ok(taken.token !== null, 'a store with fencing must give a token')
  return taken.token
}

function describeAnswer(answer: ClaimAnswer | undefined): string {
  if (answer === undefined) return 'not answered'
  if (answer.kind === 'blocked') return `blocked at position ${answer.position}`
  if (answer.kind === 'refused') return `refused (${answer.reason}: ${answer.message})`
  return 'granted'
}

/** A call that fails has an unknown outcome. */
function allKnown<A extends ClaimAnswer | ReleaseAnswer>(answers: readonly (A | Unknown)[]): readonly A[] {
  return answers.map((answer) => {
    if (answer.kind === 'unknown') throw answer.error
    return answer
  })
}
