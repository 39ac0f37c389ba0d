import type { LockError } from '../../errors.ts'
import type { Claim, ClaimAnswer, ReleaseAnswer } from '../../model/index.ts'
import type { StoreCallName } from '../events.ts'
import type { Soon, Unknown } from '../store.ts'
import type { Receiver } from './pending-call.ts'
import type { StoreClient } from './store-client.ts'

const NO_ANSWER = 'it left the claim without an answer'

/** The claims of one call, each with the receiver of its answer. */
export class Batch<A extends ClaimAnswer | ReleaseAnswer> implements Receiver<readonly (A | Unknown)[]> {
  readonly claims: Claim[] = []
  readonly call: StoreCallName
  private readonly client: StoreClient
  private readonly receivers: Receiver<A>[] = []

  constructor(client: StoreClient, call: StoreCallName) {
    this.client = client
    this.call = call
  }

  add(claim: Claim, receiver: Receiver<A>): void {
    this.claims.push(claim)
    this.receivers.push(receiver)
  }

  answered(answers: readonly (A | Unknown)[]): void {
    for (let index = 0; index < this.receivers.length; index++) {
      const receiver = this.receivers[index] as Receiver<A>
      const answer = answers[index]
      if (answer === undefined) receiver.failed(this.client.unknown(this.call, 1, new Error(NO_ANSWER)))
      else if (answer.kind === 'unknown') receiver.failed(this.client.unknown(this.call, 1, answer.error))
      else receiver.answered(answer)
    }
  }

  failed(error: LockError): void {
    for (const receiver of this.receivers) receiver.failed(error)
  }

  only(indexes: readonly number[]): Batch<A> {
    const batch = this.emptied()
    for (const index of indexes) batch.add(this.claims[index] as Claim, this.receivers[index] as Receiver<A>)
    return batch
  }

  /** Splits into batches of at most `most` claims; the claims of a group are adjacent and stay together. */
  split(most: number): readonly Batch<A>[] {
    const { claims, receivers } = this
    if (claims.length <= most) return [this]
    const batches: Batch<A>[] = []
    let batch = this.emptied()
    for (let index = 0; index < claims.length; index++) {
      const claim = claims[index] as Claim
      const inGroup = claim.group !== null && claim.group === claims[index - 1]?.group
      if (index === 0 || (batch.claims.length >= most && !inGroup)) {
        batch = this.emptied()
        batches.push(batch)
      }
      batch.add(claim, receivers[index] as Receiver<A>)
    }
    return batches
  }

  /** Separates the releases of claims that are being attempted: a release that overtook its claim would leave a hold without an owner. */
  apartFrom(attempts: Batch<ClaimAnswer>): [others: Batch<A>, own: Batch<A> | null] {
    const attempted = new Set(attempts.claims.map((claim) => claim.id))
    if (!this.claims.some((claim) => attempted.has(claim.id))) return [this, null]
    const others = this.emptied()
    const own = this.emptied()
    for (const [index, claim] of this.claims.entries())
      (attempted.has(claim.id) ? own : others).add(claim, this.receivers[index] as Receiver<A>)
    return [others, own]
  }

  private emptied(): Batch<A> {
    return new Batch<A>(this.client, this.call)
  }
}

/** The answers of an immediate store; one unknown answer fails the call, which is about one claim or one group. */
export function allKnown<A extends ClaimAnswer | ReleaseAnswer>(
  answers: Soon<readonly (A | Unknown)[]>,
): Soon<readonly A[]> {
  if (answers instanceof Promise) return answers.then(noneUnknown)
  return noneUnknown(answers)
}

function noneUnknown<A extends ClaimAnswer | ReleaseAnswer>(answers: readonly (A | Unknown)[]): readonly A[] {
  for (const answer of answers) if (answer.kind === 'unknown') throw answer.error
  return answers as readonly A[]
}

/** One promise for the answers to several claims, each of which is sent by `post`. */
export function gathered<A>(
  claims: readonly Claim[],
  post: (claim: Claim, receiver: Receiver<A>) => void,
): Promise<readonly A[]> {
  return new Promise((resolve, reject) => {
    const answers: A[] = []
    let open = claims.length
    for (const [index, claim] of claims.entries()) {
      const answered = (answer: A): void => {
        answers[index] = answer
        if (--open === 0) resolve(answers)
      }
      post(claim, { answered, failed: reject })
    }
  })
}
