import type { LockError } from '../../errors.ts'
import type { Claim, ClaimAnswer, ReleaseAnswer } from '../../model/index.ts'
import type { StoreCallName } from '../events.ts'
import type { Runtime } from '../runtime.ts'
import type { RenewReply, Soon, Store, Unknown } from '../store.ts'
import type { Caller, Receiver } from './batch.ts'

/** Carries claims to the store: those of one tick travel as one call. An error means that the outcome is unknown. */
export class Courier {
  /** Nothing is collected here: the store answers in the same turn, or collects by itself. */
  readonly immediate: boolean
  private readonly store: Store
  private readonly runtime: Runtime
  private readonly caller: Caller
  private attempts: Load<ClaimAnswer>
  private releases: Load<ReleaseAnswer>
  private scheduled = false
  private readonly full: number

  constructor(store: Store, runtime: Runtime, caller: Caller) {
    this.store = store
    this.runtime = runtime
    this.caller = caller
    this.attempts = new Load(caller, 'attempt')
    this.releases = new Load(caller, 'release')
    this.immediate = store.traits.immediate
    this.full =
      store.partOf === undefined
        ? (store.claimsPerCall ?? Number.POSITIVE_INFINITY)
        : Number.POSITIVE_INFINITY
  }

  attempt(claims: readonly Claim[]): Soon<readonly ClaimAnswer[]> {
    if (this.immediate)
      return this.caller.call('attempt', claims.length, () => allKnown(this.store.attempt(claims)))
    return gather(claims, (claim, receiver) => this.postAttempt(claim, receiver))
  }

  release(claims: readonly Claim[]): Soon<readonly ReleaseAnswer[]> {
    if (this.immediate)
      return this.caller.call('release', claims.length, () => allKnown(this.store.release(claims)))
    return gather(claims, (claim, receiver) => this.postRelease(claim, receiver))
  }

  /** The error of one member of a batch of renewals, as an error of a whole call would be. */
  renewalUnknown(error: Error): LockError {
    return this.caller.unknown('renew', 1, error)
  }

  renew(claims: readonly Claim[], timeoutMs: number): Soon<readonly RenewReply[]> {
    return this.caller.call('renew', claims.length, () => this.store.renew(claims), timeoutMs)
  }

  /** Sends a claim with the others of this tick. No promise is made for it: there may be thousands in a tick. */
  postAttempt(claim: Claim, receiver: Receiver<ClaimAnswer>): void {
    this.attempts.add(claim, receiver)
    this.goOn(claim, this.attempts.claims.length)
  }

  postRelease(claim: Claim, receiver: Receiver<ReleaseAnswer>): void {
    this.releases.add(claim, receiver)
    this.goOn(claim, this.releases.claims.length)
  }

  /** Which things are in which part of the store, by their places; a group is where its first claim is. Null for one part. */
  byPart<T>(things: readonly T[], claimOf: (thing: T) => Claim): readonly (readonly number[])[] | null {
    const { store } = this
    if (store.partOf === undefined || things.length < 2) return null
    const parts = new Map<string, number[]>()
    let group: string | null = null
    let part = ''
    for (const [place, thing] of things.entries()) {
      const claim = claimOf(thing)
      if (claim.group === null || claim.group !== group) part = store.partOf(claim.key)
      group = claim.group
      const places = parts.get(part)
      if (places === undefined) parts.set(part, [place])
      else places.push(place)
    }
    return [...parts.values()]
  }

  /** As many as one call carries are sent at once, so that the store is at work while the next ones are collected; a group stays together. */
  private goOn(last: Claim, count: number): void {
    if (count >= this.full && last.group === null) {
      this.flush()
      return
    }
    if (this.scheduled) return
    this.scheduled = true
    this.runtime.defer(this.flush)
  }

  /** Releases go first: what they free may be what the attempts of the same tick ask for. */
  private readonly flush = (): void => {
    this.scheduled = false
    const { attempts, releases } = this
    const asked = attempts.claims.length > 0
    const given = releases.claims.length > 0
    if (asked) this.attempts = new Load(this.caller, 'attempt')
    if (given) this.releases = new Load(this.caller, 'release')
    if (asked && given) this.sendBoth(attempts, releases)
    else if (asked) this.sendAttempts(attempts)
    else if (given) this.sendReleases(releases)
  }

  private sendBoth(attempts: Load<ClaimAnswer>, releases: Load<ReleaseAnswer>): void {
    const [others, own] = releases.apartFrom(attempts)
    this.sendReleases(others)
    this.sendAttempts(attempts)
    if (own !== null) this.sendReleases(own)
  }

  // One claim alone is the usual case, and needs no more than its call.
  private sendAttempts(whole: Load<ClaimAnswer>): void {
    if (whole.claims.length === 1) this.sendAttempt(whole)
    else for (const load of this.partsOf(whole)) this.sendAttempt(load)
  }

  private sendAttempt(load: Load<ClaimAnswer>): void {
    const { claims } = load
    this.caller.send('attempt', claims.length, () => this.store.attempt(claims), load)
  }

  private sendReleases(whole: Load<ReleaseAnswer>): void {
    if (whole.claims.length === 1) this.sendRelease(whole)
    else for (const load of this.partsOf(whole)) this.sendRelease(load)
  }

  private sendRelease(load: Load<ReleaseAnswer>): void {
    const { claims } = load
    this.caller.send('release', claims.length, () => this.store.release(claims), load)
  }

  private partsOf<A extends ClaimAnswer | ReleaseAnswer>(load: Load<A>): readonly Load<A>[] {
    if (load.claims.length === 0) return NONE
    const parts = this.byPart(load.claims, itself)?.map((places) => load.only(places)) ?? [load]
    const { claimsPerCall } = this.store
    return claimsPerCall === undefined ? parts : parts.flatMap((part) => part.cut(claimsPerCall))
  }
}

const NO_ANSWER = 'it left the claim without an answer'
const NONE: readonly never[] = []
const itself = (claim: Claim): Claim => claim

/** The claims of one call, and who is told about each. */
class Load<A extends ClaimAnswer | ReleaseAnswer> implements Receiver<readonly (A | Unknown)[]> {
  readonly claims: Claim[] = []
  private readonly caller: Caller
  private readonly call: StoreCallName
  private readonly receivers: Receiver<A>[] = []

  constructor(caller: Caller, call: StoreCallName) {
    this.caller = caller
    this.call = call
  }

  add(claim: Claim, receiver: Receiver<A>): void {
    this.claims.push(claim)
    this.receivers.push(receiver)
  }

  answered(answers: readonly (A | Unknown)[]): void {
    for (let place = 0; place < this.receivers.length; place++) {
      const receiver = this.receivers[place] as Receiver<A>
      const answer = answers[place]
      if (answer === undefined) receiver.failed(this.caller.unknown(this.call, 1, new Error(NO_ANSWER)))
      else if (answer.kind === 'unknown') receiver.failed(this.caller.unknown(this.call, 1, answer.error))
      else receiver.answered(answer)
    }
  }

  failed(error: LockError): void {
    for (const receiver of this.receivers) receiver.failed(error)
  }

  only(places: readonly number[]): Load<A> {
    const load = this.emptied()
    for (const place of places) load.add(this.claims[place] as Claim, this.receivers[place] as Receiver<A>)
    return load
  }

  /** In pieces of that many claims; the claims of a group, which stand together, stay together. */
  cut(most: number): readonly Load<A>[] {
    const { claims, receivers } = this
    if (claims.length <= most) return [this]
    const pieces: Load<A>[] = []
    let piece = this.emptied()
    for (let place = 0; place < claims.length; place++) {
      const claim = claims[place] as Claim
      const inGroup = claim.group !== null && claim.group === claims[place - 1]?.group
      if (place === 0 || (piece.claims.length >= most && !inGroup)) {
        piece = this.emptied()
        pieces.push(piece)
      }
      piece.add(claim, receivers[place] as Receiver<A>)
    }
    return pieces
  }

  /** A release that overtook its own claim would leave a hold that nobody knows of: those come apart. */
  apartFrom(attempts: Load<ClaimAnswer>): [others: Load<A>, own: Load<A> | null] {
    if (this.claims.length === 0) return [this, null]
    const asked = new Set(attempts.claims.map((claim) => claim.id))
    if (!this.claims.some((claim) => asked.has(claim.id))) return [this, null]
    const others = this.emptied()
    const own = this.emptied()
    for (const [place, claim] of this.claims.entries())
      (asked.has(claim.id) ? own : others).add(claim, this.receivers[place] as Receiver<A>)
    return [others, own]
  }

  private emptied(): Load<A> {
    return new Load<A>(this.caller, this.call)
  }
}

/** Answers that are there at once; one that is unknown fails the call, which concerns one claim or one group. */
function allKnown<A extends ClaimAnswer | ReleaseAnswer>(
  answers: Soon<readonly (A | Unknown)[]>,
): Soon<readonly A[]> {
  if (answers instanceof Promise) return answers.then(noneUnknown)
  return noneUnknown(answers)
}

function noneUnknown<A extends ClaimAnswer | ReleaseAnswer>(answers: readonly (A | Unknown)[]): readonly A[] {
  for (const answer of answers) if (answer.kind === 'unknown') throw answer.error
  return answers as readonly A[]
}

/** One promise for the answers to several claims, which travel side by side. */
function gather<A>(
  claims: readonly Claim[],
  post: (claim: Claim, receiver: Receiver<A>) => void,
): Promise<readonly A[]> {
  return new Promise((resolve, reject) => {
    const answers: A[] = []
    let open = claims.length
    for (const [place, claim] of claims.entries()) {
      const answered = (answer: A): void => {
        answers[place] = answer
        if (--open === 0) resolve(answers)
      }
      post(claim, { answered, failed: reject })
    }
  })
}
