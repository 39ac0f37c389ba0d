import type { ClaimReply } from '../../core/store.ts'
import { unknownAnswer } from '../../core/store.ts'
import { StoreError } from '../../errors.ts'
import type { Claim, ClaimAnswer } from '../../model/index.ts'
import type { RangeOp } from './client/requests.ts'
import type { OpResult } from './client/responses.ts'
import { chunksOf, discard, type StoreContext, withLeases } from './context.ts'
import { claimValue } from './format.ts'
import { DECISIONS, planAdoption, planConversion, planGrant, writeGrants } from './grant.ts'
import { granted, holdLeases, noteHold, rearm, removal } from './hold.ts'
import type { LocalClaim, QueueAnswer } from './local-claims.ts'
import { type NewClaimResult, type SentClaim, sendArrival, sendNew } from './new-claims.ts'
import { contendedOp, isContended } from './notifications.ts'
import { lookAtQueue, noteArrival, queueLease } from './queue.ts'
import { blocked, closingOf, findEntry, membersOf, readSnapshot } from './read.ts'
import { rebind, secure } from './rebind.ts'
import { type ClaimEntry, obstacleOf, type QueueSnapshot, refusalOf } from './snapshot.ts'

/** Each claim needs a few of the 128 operations of a transaction. */
const CLAIMS_PER_CALL = 60

/** Nothing was done, because the key has changed since it was read. */
const CHANGED = { kind: 'changed' } as const

interface Numbered {
  readonly claim: Claim
  readonly index: number
}

/** Attempts claims without a group: new ones share transactions, known ones go one by one. */
export async function attempt(
  context: StoreContext,
  claims: readonly Claim[],
): Promise<readonly ClaimReply[]> {
  const answers = new Array<Promise<ClaimReply>>(claims.length)
  const fresh: Numbered[] = []
  for (const [index, claim] of claims.entries())
    if (isNew(context, claim)) fresh.push({ claim, index })
    else answers[index] = attemptKnown(context, claim).catch(unknownAnswer)
  for (const wave of wavesOf(fresh)) {
    const written = chunksOf(wave, CLAIMS_PER_CALL).map(async (some) => {
      const sending = sendNew(
        context,
        some.map(({ claim }) => claim),
      )
      for (const [at, { index }] of some.entries())
        answers[index] = sending.then((sent) => answerTo(context, sent[at])).catch(unknownAnswer)
      await sending.catch(ignore)
    })
    await Promise.all(written)
  }
  return Promise.all(answers)
}

/** The second claim for a key goes in the second wave, so that the order of the batch is the order of the queue. */
function wavesOf(claims: readonly Numbered[]): readonly (readonly Numbered[])[] {
  const waves: Numbered[][] = []
  const ofKey = new Map<string, number>()
  for (const each of claims) {
    const { key } = each.claim
    const wave = ofKey.get(key) ?? 0
    ofKey.set(key, wave + 1)
    waves[wave] ??= []
    waves[wave].push(each)
  }
  return waves
}

function isNew({ claims }: StoreContext, claim: Claim): boolean {
  return claim.replaces === null && claims.get(claim) === undefined && !claims.dying.has(claim.id)
}

async function attemptKnown(context: StoreContext, claim: Claim): Promise<ClaimAnswer> {
  const { claims, runtime } = context
  await claims.dying.get(claim.id)
  const local = claims.get(claim)
  const answer = local === undefined ? null : await reattempt(context, local, claim)
  if (answer !== null) return answer
  if (claim.replaces === null) return attemptNew(context, claim)
  const sentAtMs = runtime.nowMs()
  return decide(context, claim, await readSnapshot(context, claim), true, sentAtMs)
}

async function attemptNew(context: StoreContext, claim: Claim): Promise<ClaimAnswer> {
  return answerTo(context, (await sendNew(context, [claim]))[0])
}

/** A claim that is sent again is the same claim. Null when etcd no longer has it. */
async function reattempt(
  context: StoreContext,
  local: LocalClaim,
  claim: Claim,
): Promise<ClaimAnswer | null> {
  const { claims, client, runtime } = context
  rearm(context, local, claim.ttlMs)
  if (local.state !== 'held') {
    const look = await lookAtQueue(context, local)
    if (look.kind === 'gone') return null
    if (look.kind !== 'granted') return look
    const held = claims.get(claim)
    if (held === undefined) return null
    // The look may have begun before this attempt.
    rearm(context, held, claim.ttlMs)
    return (await secure(context, held, claim)) ? look : null
  }
  const success: RangeOp[] = [
    { kind: 'range', key: local.name },
    contendedOp(claim.key, local.claim.mode.kind),
  ]
  const [{ results }, secured] = await Promise.all([client.txn({ success }), secure(context, local, claim)])
  if (!secured || results[0]?.kvs[0]?.created !== local.created) {
    claims.drop(local)
    return null
  }
  if (local.claim.mode.kind !== claim.mode.kind)
    return decide(context, claim, await readSnapshot(context, claim), true, runtime.nowMs())
  return granted(local.seq, local.claim, isContended(results[1] as OpResult, claim.id))
}

async function answerTo(
  context: StoreContext,
  sent: PromiseSettledResult<SentClaim> | undefined,
): Promise<ClaimAnswer> {
  if (sent?.status !== 'fulfilled') throw sent?.reason
  const { result, lasting } = sent.value
  const [answer] = await Promise.all([answerToResult(context, result), lasting])
  return answer
}

async function answerToResult(context: StoreContext, result: NewClaimResult): Promise<ClaimAnswer> {
  const { claim, sentAtMs } = result
  switch (result.kind) {
    case 'granted':
      return granted(result.seq, claim, false)
    case 'arrived':
      return orAnew(context, claim, await lookAtQueue(context, result.local))
    case 'tried':
      return answerToTried(context, result)
    case 'undecided':
      return decide(context, claim, result.snapshot, result.isKnown, sentAtMs)
  }
}

/** The snapshot is of the same transaction as the arrival, so it has every claim for permits before this one. */
async function answerToTried(
  context: StoreContext,
  { claim, sentAtMs, local, draft, snapshot, revision }: NewClaimResult & { kind: 'tried' },
): Promise<ClaimAnswer> {
  const refusal = refusalOf(snapshot, claim)
  if (refusal !== null) return undo(context, local, refusal)
  const { closedBy } = await closingOf(context, snapshot)
  if (obstacleOf(snapshot, claim.mode, revision, closedBy) === null) {
    const held = noteHold(context, draft, revision, revision)
    const { lease, delay } = draft.leases
    if (delay !== null) await rebind(context, held, lease, delay)
    const waiters = snapshot.queue.permits.some(({ value }) => value.state === 'waiting')
    return granted(held.seq, claim, waiters)
  }
  if (!claim.queue) return undo(context, local, blocked(context, snapshot, 0, sentAtMs))
  return orAnew(context, claim, await lookAtQueue(context, local))
}

/** Removes a claim that must not stay. It has no `shut` key yet. */
async function undo(context: StoreContext, local: LocalClaim, answer: ClaimAnswer): Promise<ClaimAnswer> {
  context.claims.drop(local)
  await discard(context, local.lease, [], [{ kind: 'delete', key: local.name }])
  return answer
}

/** Decides about a claim that no transaction has written yet, until a decision meets an unchanged key. */
async function decide(
  context: StoreContext,
  claim: Claim,
  seen: QueueSnapshot,
  isKnown: boolean,
  sentAtMs: number,
): Promise<ClaimAnswer> {
  let snapshot = seen
  let own = isKnown ? await findEntry(context, claim.key, claim.id) : undefined
  for (let decisions = 0; decisions < DECISIONS; decisions++) {
    const answer = await act(context, claim, snapshot, own, sentAtMs)
    if (answer.kind !== 'changed') return answer
    snapshot = await readSnapshot(context, claim)
    own = await findEntry(context, claim.key, claim.id)
  }
  throw new StoreError('the key changes too fast for a decision')
}

async function act(
  context: StoreContext,
  claim: Claim,
  snapshot: QueueSnapshot,
  own: ClaimEntry | undefined,
  sentAtMs: number,
): Promise<ClaimAnswer | typeof CHANGED> {
  const members = own === undefined ? [] : await membersOf(context, own)
  const answer = await withLeases(() => write(context, claim, snapshot, own, members))
  if (answer === null) {
    if (own !== undefined) return recoverEntry(context, claim, own)
    if (!claim.queue) return blocked(context, snapshot, 0, sentAtMs)
    const local = await sendArrival(context, claim)
    return local === null ? CHANGED : orAnew(context, claim, await lookAtQueue(context, local))
  }
  if (answer.kind === 'refused' && own !== undefined && members.length === 0 && claim.replaces === null)
    await discard(context, null, [], removal(claim, own.name))
  return answer
}

/** Writes the hold that the claim can have now; null if it has to wait. */
async function write(
  context: StoreContext,
  claim: Claim,
  snapshot: QueueSnapshot,
  own: ClaimEntry | undefined,
  members: readonly ClaimEntry[],
): Promise<ClaimAnswer | typeof CHANGED | null> {
  const plan =
    own !== undefined && members.length > 0
      ? await planConversion(context, claim, own, members)
      : claim.replaces !== null
        ? await planAdoption(context, claim)
        : await planGrant(context, claim, snapshot, own)
  if (plan === null || 'kind' in plan) return plan
  const { mode } = plan.draft.claim
  const written = await writeGrants(context, [plan], [contendedOp(claim.key, mode.kind)])
  if (written === null) return CHANGED
  const contended = isContended(written.results.at(-1) as OpResult, claim.id)
  return granted(written.seqs[0] as number, plan.draft.claim, contended)
}

/** Takes over the claim that another connection or an earlier call left in etcd; undefined when there is none. */
export async function recover(context: StoreContext, claim: Claim): Promise<LocalClaim | undefined> {
  const own = await findEntry(context, claim.key, claim.id)
  if (own === undefined) return undefined
  const wanted = { ...claim, mode: own.mode }
  const members = await membersOf(context, own)
  if (members.length === 0) await recoverEntry(context, wanted, own)
  else
    await withLeases(async () => {
      const plan = await planConversion(context, wanted, own, members)
      if (!('kind' in plan)) await writeGrants(context, [plan])
    })
  return context.claims.get(claim)
}

/** The lease of another connection may end with it, so a waiter is bound to a lease of this store. */
async function recoverEntry(
  context: StoreContext,
  claim: Claim,
  { name, created, changed, order, section }: ClaimEntry,
): Promise<ClaimAnswer | typeof CHANGED> {
  const { claims, inbox, runtime } = context
  const { lease } = await holdLeases(context, claim)
  const waitingLease = claim.queue ? await queueLease(context, claim) : lease
  const value = claimValue(claim, inbox.address, 'waiting', runtime.wallMs())
  const stored = { name, value, created, changed, order }
  const local = noteArrival(context, claim, stored, waitingLease, lease, runtime.nowMs())
  if (section === 'queue') {
    local.state = 'waiting'
    if (!(await rebind(context, local, waitingLease)) || !claims.has(local)) return CHANGED
  }
  return orAnew(context, claim, await lookAtQueue(context, local))
}

/** Attempts anew if the key of the claim was gone before the claim was settled. */
async function orAnew(context: StoreContext, claim: Claim, look: QueueAnswer): Promise<ClaimAnswer> {
  if (look.kind === 'granted') {
    // The hold may be of an earlier transaction, whose lease need not last.
    const held = context.claims.get(claim)
    if (held !== undefined && (await secure(context, held, claim))) return look
  } else if (look.kind !== 'gone') return look
  return attemptNew(context, claim)
}

/** Every claim of the transaction reports the failure itself. */
function ignore(): void {}
