import type { Claim, ClaimAnswer, ReleaseAnswer, RenewAnswer } from '../model/index.ts'
import type { Caller } from './caller.ts'
import type { Runtime } from './runtime.ts'
import type { Soon, Store } from './store.ts'

interface Answers {
  readonly attempt: ClaimAnswer
  readonly release: ReleaseAnswer
}

interface Parcel<A> {
  readonly claims: readonly Claim[]
  readonly resolve: (answers: readonly A[]) => void
  readonly reject: (error: unknown) => void
}

/** A release that overtook its own claim would leave a hold that nobody knows of. */
function split<R extends Parcel<ReleaseAnswer>>(
  releases: R[],
  attempts: Parcel<ClaimAnswer>[],
): [own: R[], others: R[]] {
  const asked = new Set(attempts.flatMap(({ claims }) => claims.map((claim) => claim.id)))
  const isOwn = ({ claims }: R) => claims.some((claim) => asked.has(claim.id))
  return [releases.filter(isOwn), releases.filter((release) => !isOwn(release))]
}

/** Carries claims to the store: those of one tick travel as one call. An error means that the outcome is unknown. */
export class Courier {
  private readonly store: Store
  private readonly runtime: Runtime
  private readonly caller: Caller
  private readonly attempts: Parcel<ClaimAnswer>[] = []
  private readonly releases: Parcel<ReleaseAnswer>[] = []
  private scheduled = false

  constructor(store: Store, runtime: Runtime, caller: Caller) {
    this.store = store
    this.runtime = runtime
    this.caller = caller
  }

  attempt(claims: readonly Claim[]): Soon<readonly ClaimAnswer[]> {
    if (this.store.traits.immediate) return this.send('attempt', claims)
    return this.post(this.attempts, claims)
  }

  release(claims: readonly Claim[]): Soon<readonly ReleaseAnswer[]> {
    if (this.store.traits.immediate) return this.send('release', claims)
    return this.post(this.releases, claims)
  }

  renew(claims: readonly Claim[], timeoutMs: number): Soon<readonly RenewAnswer[]> {
    return this.caller.call('renew', claims.length, () => this.store.renew(claims), timeoutMs)
  }

  private post<A>(parcels: Parcel<A>[], claims: readonly Claim[]): Promise<readonly A[]> {
    return new Promise((resolve, reject) => {
      parcels.push({ claims, resolve, reject })
      if (this.scheduled) return
      this.scheduled = true
      this.runtime.defer(this.flush)
    })
  }

  /** Releases go first: what they free may be what the attempts of the same tick ask for. */
  private readonly flush = (): void => {
    this.scheduled = false
    const attempts = this.attempts.splice(0)
    const releases = this.releases.splice(0)
    const [own, others] =
      attempts.length === 0 || releases.length === 0 ? [[], releases] : split(releases, attempts)
    this.dispatch('release', others)
    this.dispatch('attempt', attempts)
    this.dispatch('release', own)
  }

  private dispatch<C extends 'attempt' | 'release'>(call: C, parcels: Parcel<Answers[C]>[]): void {
    if (parcels.length === 0) return
    const claims =
      parcels.length === 1
        ? (parcels[0] as Parcel<Answers[C]>).claims
        : parcels.flatMap((parcel) => parcel.claims)
    const deliver = (answers: readonly Answers[C][]): void => {
      let from = 0
      for (const parcel of parcels) {
        const to = from + parcel.claims.length
        parcel.resolve(answers.slice(from, to))
        from = to
      }
    }
    const fail = (error: unknown): void => {
      for (const parcel of parcels) parcel.reject(error)
    }
    try {
      const answers = this.send(call, claims)
      if (answers instanceof Promise) answers.then(deliver, fail)
      else deliver(answers)
    } catch (error) {
      fail(error)
    }
  }

  private send<C extends 'attempt' | 'release'>(
    call: C,
    claims: readonly Claim[],
  ): Soon<readonly Answers[C][]> {
    return this.caller.call(
      call,
      claims.length,
      () => this.store[call](claims) as Soon<readonly Answers[C][]>,
    )
  }
}
