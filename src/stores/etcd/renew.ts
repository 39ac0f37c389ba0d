import type { RenewReply, Unknown } from '../../core/store.ts'
import { unknownAnswer } from '../../core/store.ts'
import type { Claim } from '../../model/index.ts'
import type { Acquire } from './acquire.ts'
import { contendedOp, isContended } from './contention.ts'
import type { StoreContext } from './context.ts'
import { rearm, secure } from './hold.ts'
import type { LocalClaim } from './local-claims.ts'
import type { Queue } from './queue.ts'
import { entryOf } from './snapshot.ts'
import type { RangeOp } from './wire/requests.ts'
import type { OpResult } from './wire/responses.ts'

/** Two operations each, of the 128 that a transaction may have. */
const CLAIMS_PER_CALL = 60
const LOST = { kind: 'lost' } as const

interface Renewal {
  readonly local: LocalClaim
  readonly claim: Claim
}

/** Prolongs holds and positions in the queue: one keep-alive per lease, and for each claim a look at its own key. */
export class Renew {
  private readonly context: StoreContext
  private readonly queue: Queue
  private readonly acquire: Acquire

  constructor(context: StoreContext, queue: Queue, acquire: Acquire) {
    this.context = context
    this.queue = queue
    this.acquire = acquire
  }

  async renew(claims: readonly Claim[]): Promise<readonly RenewReply[]> {
    const answers: RenewReply[] = new Array(claims.length).fill(LOST)
    const known: (Renewal & { readonly index: number })[] = []
    const others: Promise<void>[] = []
    for (const [index, claim] of claims.entries()) {
      const local = this.context.claims.get(claim)
      if (local !== undefined && !mayBeNext(local)) {
        rearm(this.context, local, claim.ttlMs)
        known.push({ local, claim, index })
        continue
      }
      const renewed = local === undefined ? this.renewUnknown(claim) : this.renewByLook(local, claim)
      const note = (answer: RenewReply): void => {
        answers[index] = answer
      }
      others.push(renewed.catch(unknownAnswer).then(note))
    }
    for (let first = 0; first < known.length; first += CLAIMS_PER_CALL) {
      const some = known.slice(first, first + CLAIMS_PER_CALL)
      const note = (renewed: readonly RenewReply[]): void => {
        for (const [at, { index }] of some.entries()) answers[index] = renewed[at] as RenewReply
      }
      const failed = (error: Error) => some.map(() => unknownAnswer(error))
      others.push(this.renewKnown(some).catch(failed).then(note))
    }
    await Promise.all(others)
    return answers
  }

  /** Whether claims are still there, asked while the leases of holds are made to last. */
  private async renewKnown(renewals: readonly Renewal[]): Promise<readonly RenewReply[]> {
    const success = renewals.flatMap(({ local }): RangeOp[] => {
      const { key, mode } = local.claim
      const own: RangeOp = { kind: 'range', key: local.name }
      return local.state === 'held' ? [own, contendedOp(key, mode.kind)] : [own]
    })
    const before = renewals.map(({ local }) => ({ state: local.state, created: local.created }))
    const secured = Promise.all(
      renewals.map(({ local, claim }) =>
        local.state === 'held' ? secure(this.context, local, claim).catch(unknownAnswer) : true,
      ),
    )
    const { results } = await this.context.client.txn({ compare: [], success, failure: [] })
    const lasting = await secured
    const answers: Promise<RenewReply>[] = []
    let next = 0
    for (const [index, renewal] of renewals.entries()) {
      const { state, created } = before[index] as (typeof before)[number]
      const own = results[next++] as OpResult
      const isThere = own.kvs[0]?.created === created
      if (state !== 'held') {
        answers.push(this.renewedWaiting(renewal, isThere, own).catch(unknownAnswer))
        continue
      }
      const contended = isContended(results[next++] as OpResult, renewal.claim.id)
      answers.push(
        Promise.resolve(this.renewedHold(renewal.local, isThere, contended, lasting[index] ?? false)),
      )
    }
    return Promise.all(answers)
  }

  private renewedHold(
    local: LocalClaim,
    isThere: boolean,
    contended: boolean,
    lasts: boolean | Unknown,
  ): RenewReply {
    if (isThere && lasts !== false) return lasts === true ? { kind: 'renewed', contended } : lasts
    this.context.claims.drop(local)
    return LOST
  }

  /** A position may have become a hold meanwhile, which the renewal confirms. */
  private async renewedWaiting(
    { local, claim }: Renewal,
    isThere: boolean,
    own: OpResult,
  ): Promise<RenewReply> {
    const { claims, runtime } = this.context
    const now = claims.get(claim)
    if (now === undefined) return LOST
    if (now.state === 'held') return this.confirm(now, claim)
    const kv = own.kvs[0]
    if (now !== local || (isThere && kv !== undefined && entryOf(kv).value.state === 'held'))
      return this.renewByLook(now, claim)
    if (isThere) return { kind: 'waiting', position: local.position, storeTimeMs: runtime.nowMs() }
    claims.drop(local)
    return LOST
  }

  /** The claim's own look is needed to know what became of it. */
  private async renewByLook(local: LocalClaim, claim: Claim): Promise<RenewReply> {
    rearm(this.context, local, claim.ttlMs)
    const sentAtMs = this.context.runtime.nowMs()
    const look = await this.queue.look(local)
    if (look.kind === 'blocked') return { kind: 'waiting', position: look.position, storeTimeMs: sentAtMs }
    const held = this.context.claims.get(claim)
    return look.kind === 'granted' && held !== undefined ? this.confirm(held, claim) : LOST
  }

  private async confirm(held: LocalClaim, claim: Claim): Promise<RenewReply> {
    rearm(this.context, held, claim.ttlMs)
    return (await this.renewKnown([{ local: held, claim }]))[0] ?? LOST
  }

  private async renewUnknown(claim: Claim): Promise<RenewReply> {
    if (this.context.claims.dying.has(claim.id)) return LOST
    const local = await this.acquire.takeUp(claim)
    if (local === null) return LOST
    return local.state === 'held' ? this.confirm(local, claim) : this.renewByLook(local, claim)
  }
}

/** The first in the queue look for themselves: the claim before them may have gone in this very moment. */
function mayBeNext({ state, position }: LocalClaim): boolean {
  return state === 'joining' || (state === 'waiting' && position <= 2)
}
