import type { ClaimReply } from '../../core/store.ts'
import { unknownAnswer } from '../../core/store.ts'
import { StoreError } from '../../errors.ts'
import type { Claim, ClaimAnswer } from '../../model/index.ts'
import { type Changed, HoldChanges } from './change.ts'
import { contendedOp, isContended } from './contention.ts'
import { bind, discard, type StoreContext, withLeases } from './context.ts'
import { arrivalOp, type Fresh, isAddedUp, prepare, sendFresh, waitingValue } from './fresh.ts'
import { granted, noteHold, rearm, rebind, removal, secure } from './hold.ts'
import type { LocalClaim, Look } from './local-claims.ts'
import { claimName } from './names.ts'
import type { Queue } from './queue.ts'
import { blocked, closingOf, findEntry, membersOf, readSnapshot } from './read.ts'
import {
  type Entry,
  obstacleOf,
  RANGES,
  refusalOf,
  type Snapshot,
  snapshotOf,
  upgradeOf,
} from './snapshot.ts'
import { type Numbered, wavesOf } from './waves.ts'
import type { RangeOp } from './wire/requests.ts'
import type { OpResult, TxnResult } from './wire/responses.ts'

/** How often a decision about a busy key is made again before it counts as unanswered. */
const DECISIONS = 32
/** How many claims travel in one transaction; each needs a few of the 128 operations that it may have. */
const CLAIMS_PER_CALL = 60
const LAST = Number.POSITIVE_INFINITY

/** Claims that do not belong to a group: new ones in as few transactions as can be, known ones each for itself. */
export class Acquire {
  private readonly context: StoreContext
  private readonly queue: Queue
  private readonly changes: HoldChanges

  constructor(context: StoreContext, queue: Queue) {
    this.context = context
    this.queue = queue
    this.changes = new HoldChanges(context)
  }

  async attempt(claims: readonly Claim[]): Promise<readonly ClaimReply[]> {
    const answers: ClaimReply[] = new Array(claims.length)
    const settled: Promise<void>[] = []
    const fresh: Numbered[] = []
    const note = (index: number, answer: Promise<ClaimAnswer>): void => {
      const noted = answer.catch(unknownAnswer).then((known) => {
        answers[index] = known
      })
      settled.push(noted)
    }
    for (const [index, claim] of claims.entries()) {
      if (this.isSimple(claim)) fresh.push({ claim, index })
      else note(index, this.one(claim))
    }
    for (const calls of wavesOf(fresh, CLAIMS_PER_CALL)) {
      const written = calls.map(async (call) => {
        const sent = withLeases(() => this.sendFresh(call.map(({ claim }) => claim)))
        for (const [at, { index }] of call.entries()) {
          const answer = sent.then((all) => all[at] as Promise<ClaimAnswer>)
          note(index, answer)
        }
        await sent.catch(ignore)
      })
      await Promise.all(written)
    }
    await Promise.all(settled)
    return answers
  }

  /** Takes up what another connection, or an earlier life, left in etcd for the claim; null when there is nothing. */
  async takeUp(claim: Claim): Promise<LocalClaim | null> {
    const own = await findEntry(this.context, claim.key, claim.id)
    if (own === undefined) return null
    await this.takeUpOwn({ ...claim, mode: own.mode }, own)
    return this.context.claims.get(claim) ?? null
  }

  private isSimple(claim: Claim): boolean {
    const { claims } = this.context
    return claim.replaces === null && claims.get(claim) === undefined && !claims.dying.has(claim.id)
  }

  private async one(claim: Claim): Promise<ClaimAnswer> {
    const { claims, runtime } = this.context
    await claims.dying.get(claim.id)
    const local = claims.get(claim)
    if (local !== undefined) {
      const answer = await this.again(local, claim)
      if (answer !== null) return answer
    }
    if (claim.replaces === null) return (await this.together([claim]))[0] as ClaimAnswer
    const sentAtMs = runtime.nowMs()
    return this.decided(claim, await readSnapshot(this.context, claim), true, sentAtMs)
  }

  /** A claim that is sent again is the same claim. Null when etcd does not have it any more. */
  private async again(local: LocalClaim, claim: Claim): Promise<ClaimAnswer | null> {
    const { claims, client } = this.context
    rearm(this.context, local, claim.ttlMs)
    if (local.state !== 'held') {
      const look = await this.queue.look(local)
      if (look.kind === 'gone') return null
      if (look.kind !== 'granted') return look
      const held = claims.get(claim)
      if (held === undefined) return null
      // The look may have been under way before we asked.
      rearm(this.context, held, claim.ttlMs)
      return (await secure(this.context, held, claim)) ? look : null
    }
    const success: RangeOp[] = [
      { kind: 'range', key: local.name },
      contendedOp(claim.key, local.claim.mode.kind),
    ]
    const [{ results }, secured] = await Promise.all([
      client.txn({ compare: [], success, failure: [] }),
      secure(this.context, local, claim),
    ])
    const kv = results[0]?.kvs[0]
    if (!secured || kv === undefined || kv.created !== local.created) {
      claims.drop(local)
      return null
    }
    if (local.claim.mode.kind !== claim.mode.kind)
      return this.decided(claim, await readSnapshot(this.context, claim), true, this.context.runtime.nowMs())
    return granted(local.seq, local.claim, isContended(results[1] as OpResult, claim.id))
  }

  /** New claims of different keys, in one transaction. */
  private async together(claims: readonly Claim[]): Promise<readonly ClaimAnswer[]> {
    return Promise.all(await withLeases(() => this.sendFresh(claims)))
  }

  private sendFresh(claims: readonly Claim[]): Promise<readonly Promise<ClaimAnswer>[]> {
    return sendFresh(this.context, this.queue, claims, (fresh, result, revision) =>
      this.settled(fresh, result, revision),
    )
  }

  /** What the transaction wrote is among the local claims before this waits for anything. */
  private async settled(fresh: Fresh, result: TxnResult, revision: number): Promise<ClaimAnswer> {
    const { claim, draft } = fresh
    const { sentAtMs } = draft
    const last = result.results.at(-1)
    if (isAddedUp(claim) && result.succeeded) {
      const snapshot = snapshotOf(claim.key, result.results, revision, claim.id)
      return this.tried(fresh, snapshot, revision)
    }
    if (result.succeeded) return granted(noteHold(this.context, draft, revision, revision).seq, claim, false)
    if (last?.txn?.succeeded === true) return this.arrived(fresh, revision)
    const results = last?.txn?.results ?? result.results
    const snapshot = snapshotOf(claim.key, results, revision, claim.id)
    const isKnown = results.slice(0, -RANGES).some(({ count }) => count > 0)
    return this.decided(claim, snapshot, isKnown, sentAtMs)
  }

  private async arrived({ claim, draft, waitingLease }: Fresh, revision: number): Promise<ClaimAnswer> {
    const { key, id, mode } = claim
    const name = claimName(key, 'join', mode.kind, id)
    const value = waitingValue(this.context, claim)
    const entry = { name, value, created: revision, changed: revision, order: revision }
    const local = this.queue.arrived(claim, entry, waitingLease, draft.leases.lease, draft.sentAtMs)
    return this.orAgain(claim, await this.queue.look(local))
  }

  /** A claim for permits has arrived; whether it holds is known now that everybody before it was seen. */
  private async tried({ claim, draft }: Fresh, snapshot: Snapshot, revision: number): Promise<ClaimAnswer> {
    const { leases, sentAtMs, name, value } = draft
    const entry = { name, value, created: revision, changed: revision, order: revision }
    const local = this.queue.arrived(claim, entry, leases.lease, leases.lease, sentAtMs)
    const refusal = refusalOf(snapshot, claim)
    if (refusal !== null) return this.undo(local, refusal)
    const { closedBy } = await closingOf(this.context, snapshot)
    if (obstacleOf(snapshot, claim.mode, revision, closedBy) === null) {
      const held = noteHold(this.context, draft, revision, revision)
      if (leases.delay !== null) await rebind(this.context, held, leases.lease, leases.delay)
      return granted(
        held.seq,
        claim,
        snapshot.queue.permits.some(({ value }) => value.state === 'waiting'),
      )
    }
    if (!claim.queue) return this.undo(local, blocked(this.context, snapshot, 0, sentAtMs))
    return this.orAgain(claim, await this.queue.look(local))
  }

  /** A claim that must not stay. It has nothing yet that could close the key. */
  private async undo<A extends ClaimAnswer>(local: LocalClaim, answer: A): Promise<A> {
    this.context.claims.drop(local)
    await discard(this.context, local.lease, [], [{ kind: 'delete', key: local.name }])
    return answer
  }

  /** What becomes of a claim that no transaction has written yet, told from what was seen. */
  private async decided(
    claim: Claim,
    seen: Snapshot,
    isKnown: boolean,
    sentAtMs: number,
  ): Promise<ClaimAnswer> {
    let snapshot = seen
    let own = isKnown ? await findEntry(this.context, claim.key, claim.id) : undefined
    for (let decisions = 0; decisions < DECISIONS; decisions++) {
      const answer = await this.act(claim, snapshot, own, sentAtMs)
      if (answer.kind !== 'changed') return answer
      snapshot = await readSnapshot(this.context, claim)
      own = await findEntry(this.context, claim.key, claim.id)
    }
    throw new StoreError('the key changes too fast for a decision')
  }

  private async act(
    claim: Claim,
    snapshot: Snapshot,
    own: Entry | undefined,
    sentAtMs: number,
  ): Promise<ClaimAnswer | Changed> {
    const members = own === undefined ? [] : await membersOf(this.context, own)
    if (own !== undefined && members.length > 0) return this.changes.convert(claim, own, members)
    if (claim.replaces !== null) return this.changes.adopt(claim)
    const ownHold =
      claim.owner === null ? undefined : snapshot.holds.find(({ value }) => value.owner === claim.owner)
    const refusal = refusalOf(snapshot, claim) ?? (ownHold === undefined ? null : upgradeOf(ownHold, claim))
    if (refusal !== null) {
      if (own !== undefined) await discard(this.context, null, [], removal(claim, own.name))
      return refusal
    }
    if (ownHold !== undefined) return this.changes.join(claim, ownHold, own)
    if (own !== undefined) return this.takeUpOwn(claim, own)
    const { closedBy } = await closingOf(this.context, snapshot)
    if (obstacleOf(snapshot, claim.mode, LAST, closedBy) === null) return this.changes.admit(claim, snapshot)
    return claim.queue ? this.arrive(claim) : blocked(this.context, snapshot, 0, sentAtMs)
  }

  /** Joins the queue, as a claim of a named owner that can neither join a hold nor be admitted. */
  private arrive(claim: Claim): Promise<ClaimAnswer | Changed> {
    return withLeases(async () => {
      const fresh = await prepare(this.context, this.queue, claim)
      const arrival = arrivalOp(this.context, fresh)
      const binding = { txn: arrival, leases: [fresh.waitingLease] }
      return bind<Promise<ClaimAnswer> | Changed>(this.context, binding, ({ succeeded, header }) =>
        succeeded ? this.arrived(fresh, header.revision) : { kind: 'changed' },
      )
    })
  }

  /** What another connection has of the claim: its lease may end with that, so it is bound to one of ours. */
  private async takeUpOwn(claim: Claim, own: Entry): Promise<ClaimAnswer | Changed> {
    const members = await membersOf(this.context, own)
    if (members.length > 0) return this.changes.convert(claim, own, members)
    const { claims, runtime } = this.context
    const { draft, waitingLease } = await prepare(this.context, this.queue, claim)
    const { name, created, changed, order } = own
    const entry = { name, value: waitingValue(this.context, claim), created, changed, order }
    const local = this.queue.arrived(claim, entry, waitingLease, draft.leases.lease, runtime.nowMs())
    if (own.place === 'queue') {
      local.state = 'waiting'
      if (!(await rebind(this.context, local, waitingLease))) return { kind: 'changed' }
      if (!claims.has(local)) return { kind: 'changed' }
    }
    return this.orAgain(claim, await this.queue.look(local))
  }

  /** A claim whose key was gone before it was settled begins anew. */
  private async orAgain(claim: Claim, look: Look): Promise<ClaimAnswer> {
    if (look.kind === 'granted') {
      // A look may find a hold that an earlier transaction wrote, with a lease that need not last.
      const held = this.context.claims.get(claim)
      if (held !== undefined && (await secure(this.context, held, claim))) return look
    } else if (look.kind !== 'gone') return look
    return (await this.together([claim]))[0] as ClaimAnswer
  }
}

/** Each claim of the call is told by itself. */
function ignore(): void {}
