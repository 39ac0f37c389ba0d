import {
  InvalidArgumentError,
  type LeaseLostError,
  type LockError,
  StoreError,
  UnsupportedError,
} from '../../errors.ts'
import type { Claim, ClaimAnswer } from '../../model/index.ts'
import type { Duration, GroupLease, LeaseJson } from '../api.ts'
import type { Engine } from '../engine.ts'
import { driftMs } from '../lease/hold.ts'
import { StoreLease } from '../lease/lease.ts'
import type { LockRequest } from '../options.ts'
import type { GroupAttempts } from './group-attempts.ts'
import type { LocalQueues } from './local-queues.ts'
import { Busy, tellTurnedAway } from './waiter.ts'

/** Acquires every key or none: in one step where the store can, else one by one in one global order. */
export async function acquireAll(
  engine: Engine,
  queues: LocalQueues,
  together: GroupAttempts,
  requests: readonly LockRequest[],
): Promise<GroupLease | Busy> {
  const ordered = [...requests].sort((a, b) => (a.storeKey < b.storeKey ? -1 : 1))
  chain(ordered)
  const startMs = engine.runtime.nowMs()
  let outage: StoreError | null = null
  if (engine.store.traits.groups && ordered.length > 1) {
    const known = await attemptTogether(engine, together, ordered)
    if (Array.isArray(known)) return groupOf(known)
    const first = ordered[0] as LockRequest
    const waitedMs = engine.runtime.nowMs() - startMs
    if (known instanceof Busy) {
      tellTurnedAway(engine, first, 'timeout', waitedMs)
      return known
    }
    if (known !== null && waitedMs >= first.waitMs) {
      tellTurnedAway(engine, first, 'failed', waitedMs)
      throw known
    }
    outage = known
  }
  for (;;) {
    const leases = await acquireInTurn(engine, queues, ordered, startMs, outage)
    if (leases instanceof Busy) return leases
    const lost = leases.find(({ held }) => !held)
    if (lost === undefined) return groupOf(leases)
    await releaseAll(leases)
    // The caller has no lease yet: while there is time, all keys are acquired again.
    if (engine.runtime.nowMs() - startMs >= lost.request.waitMs) lost.assertHeld()
  }
}

/** Acquires one key after the other while holding the earlier ones, which may be lost meanwhile. An outage counts until the first answer. */
async function acquireInTurn(
  engine: Engine,
  queues: LocalQueues,
  ordered: readonly LockRequest[],
  startMs: number,
  outage: StoreError | null,
): Promise<StoreLease[] | Busy> {
  const leases: StoreLease[] = []
  try {
    for (const request of ordered) {
      const waitMs = Math.max(0, request.waitMs - (engine.runtime.nowMs() - startMs))
      const lease = await queues.enter({
        ...request,
        waitMs: request.waitMs === 0 ? 0 : Math.max(1, waitMs),
        outage: leases.length === 0 ? outage : null,
      })
      if (lease instanceof Busy) {
        await releaseAll(leases)
        return lease
      }
      leases.push(lease)
    }
  } catch (error) {
    await releaseAll(leases)
    throw error
  }
  return leases
}

function groupOf(leases: readonly StoreLease[]): LeaseGroup {
  for (const { request } of leases) request.frame?.deliver()
  return new LeaseGroup(leases)
}

/** The keys of a group, if they can be one. */
export function eachOnce(keys: readonly string[]): readonly string[] {
  if (!Array.isArray(keys) || keys.length === 0)
    throw new InvalidArgumentError('keys', 'must be a list of at least one key')
  if (new Set(keys).size !== keys.length) throw new InvalidArgumentError('keys', 'must not name a key twice')
  return keys
}

/** Nests the frames: each key is acquired while the earlier ones are held, and the caller continues inside the last. */
function chain(ordered: readonly LockRequest[]): void {
  for (let index = 1; index < ordered.length; index++)
    ordered[index]?.frame?.putInside(ordered[index - 1]?.frame ?? null)
  ordered.at(-1)?.frame?.enter()
}

/** One attempt at all keys; null if one is not free, an error if the outcome is unknown. */
async function attemptTogether(
  engine: Engine,
  together: GroupAttempts,
  requests: readonly LockRequest[],
): Promise<StoreLease[] | StoreError | Busy | null> {
  const group = engine.runtime.newId()
  const claims = requests.map((request): Claim => ({ ...engine.claimOf(request), queue: false, group }))
  const sentAtMs = engine.runtime.nowMs()
  const sleeps = engine.watchdog.sleeps()
  let answers: readonly ClaimAnswer[]
  try {
    answers = await together.attempt(claims, requests[0] as LockRequest)
  } catch (error) {
    for (const claim of claims) engine.cleanup.release(claim)
    if (error instanceof StoreError || error instanceof Busy) return error
    throw error
  }
  const answeredAtMs = engine.runtime.nowMs()
  const inTime =
    engine.watchdog.sleeps() === sleeps &&
    requests.every(({ ttlMs }) => answeredAtMs < sentAtMs + ttlMs - driftMs(ttlMs))
  if (!inTime || answers.some((answer) => answer.kind !== 'granted')) {
    if (!inTime) for (const claim of claims) engine.cleanup.release(claim)
    return null
  }
  const nowMs = engine.runtime.nowMs()
  return requests.map((request, index) => {
    const claim = { ...(claims[index] as Claim), group: null }
    const answer = answers[index] as ClaimAnswer & { kind: 'granted' }
    const validUntilMs = sentAtMs + claim.ttlMs - driftMs(claim.ttlMs)
    const hold = engine.hold(claim, request, { ...answer, validUntilMs, lifeMs: claim.ttlMs }, nowMs)
    engine.listen(hold)
    const lease = new StoreLease(engine, hold, request, answer.token, sentAtMs, nowMs, null)
    hold.user = lease
    engine.tellGranted(lease, false)
    return lease
  })
}

async function releaseAll(
  leases: readonly StoreLease[],
): Promise<readonly PromiseSettledResult<'released' | 'expired'>[]> {
  return Promise.allSettled(leases.map((lease) => lease.release()))
}

/** Several leases as one: held while all of them are, lost when one of them is. */
class LeaseGroup implements GroupLease {
  readonly leases: readonly StoreLease[]
  private controller: AbortController | null = null

  constructor(leases: readonly StoreLease[]) {
    this.leases = leases
  }

  get key(): string {
    return this.leases.map((lease) => lease.key).join(', ')
  }

  get id(): string {
    return this.first.id
  }

  get token(): bigint | null {
    return this.first.token
  }

  get acquiredAt(): Date {
    return (this.leases.at(-1) as StoreLease).acquiredAt
  }

  get waitedMs(): number {
    return this.leases.reduce((sum, lease) => sum + lease.waitedMs, 0)
  }

  get held(): boolean {
    return this.leases.every((lease) => lease.held)
  }

  get signal(): AbortSignal {
    if (this.controller === null) {
      const controller = new AbortController()
      this.controller = controller
      for (const { signal } of this.leases) {
        if (signal.aborted) controller.abort(signal.reason)
        signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true })
      }
    }
    return this.controller.signal
  }

  get lossError(): LeaseLostError | null {
    for (const { lossError } of this.leases) if (lossError !== null) return lossError
    return null
  }

  remainingMs(): number {
    return Math.min(...this.leases.map((lease) => lease.remainingMs()))
  }

  assertHeld(): void {
    for (const lease of this.leases) lease.assertHeld()
  }

  async extend(ttl: Duration): Promise<void> {
    await Promise.all(this.leases.map((lease) => lease.extend(ttl)))
  }

  async release(): Promise<'released' | 'expired'> {
    const results = await releaseAll(this.leases)
    for (const result of results) if (result.status === 'rejected') throw result.reason as LockError
    return results.every((result) => result.status === 'fulfilled' && result.value === 'released')
      ? 'released'
      : 'expired'
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await releaseAll(this.leases)
  }

  on(event: 'revoked', listener: () => void): () => void {
    const stops = this.leases.map((lease) => lease.on(event, listener))
    return () => {
      for (const stop of stops) stop()
    }
  }

  toJSON(): LeaseJson {
    throw new UnsupportedError(
      'a lease over several keys cannot be serialised as one: serialise each of its `leases`',
    )
  }

  private get first(): StoreLease {
    return this.leases[0] as StoreLease
  }
}
