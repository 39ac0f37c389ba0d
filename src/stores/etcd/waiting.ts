import type { Soon } from '../../core/store.ts'
import type { Claim, ClaimAnswer } from '../../model/index.ts'
import { blocked, granted } from './answers.ts'
import { rebind } from './binding.ts'
import { type Known, knownOf, type Look } from './book.ts'
import { bind, type Desk, withLeases } from './desk.ts'
import { whole } from './fresh.ts'
import { isNext, nothingNew, unchanged } from './guards.ts'
import { type Draft, delayName, draftHold, holdOps, leasesOf, meansFor, noteHold } from './holding.ts'
import { letterOp } from './inbox.ts'
import type { Lease } from './leases.ts'
import { blockerOf, type Entry, findEntry, holdingOf, isDue, type Line, lineOf, positionOf } from './line.ts'
import { DELAY, SHARED, zonesOf } from './names.ts'
import type { Compare, Op, Txn } from './wire/requests.ts'
import type { KeyValue } from './wire/responses.ts'

/** How long a place in the line outlives its process: a dead waiter costs no more than that. */
const WAITING_TTL_MS = 3000
/** A grant that was not asked for in this very step ends after that, unless somebody takes it up. */
const OFFER_MS = 1000
/** A holder that is done by then need not know that somebody waits. */
const TELL_HOLDER_AFTER_MS = 50
/** How often a look at a busy line is repeated before it counts as unanswered. */
const LOOKS = 32

/** Claims in the line: each watches the one before it, and makes sure of its place before it counts as granted. */
export class Waiting {
  private readonly desk: Desk

  constructor(desk: Desk) {
    this.desk = desk
  }

  /** The lease for a place in the line: a short one if it is there already, else that of the hold to come. */
  leaseFor({ ttlMs }: Claim): Soon<Lease> {
    const { leases } = this.desk
    return (ttlMs > WAITING_TTL_MS ? leases.atHand(WAITING_TTL_MS) : null) ?? leases.forTtl(ttlMs)
  }

  /** The claim is in the line: it is known from now on. */
  enter(claim: Claim, entry: Entry, lease: Lease, nextLease: Lease, sentAtMs: number): Known {
    const { book, inbox, leases } = this.desk
    const known = knownOf(claim, entry, lease, sentAtMs)
    known.nextLease = nextLease
    book.add(known)
    inbox.begin(entry.changed)
    leases.prepare(Math.min(WAITING_TTL_MS, claim.ttlMs))
    return known
  }

  /** Writes down that the claim waits, on its own lease, and looks again: meanwhile its turn may have come. */
  async sitDown(known: Known): Promise<Look> {
    if (!(await rebind(this.desk, known, known.lease))) return { kind: 'gone' }
    return this.readAndSettle(known)
  }

  /** What the line says about a claim that waits in it. One that is next is granted. */
  async settle(known: Known, line: Line, sentAtMs: number): Promise<Look> {
    const { book, runtime } = this.desk
    const entry = findEntry(line, known.claim.id)
    if (entry === undefined || entry.created !== known.created) {
      book.drop(known)
      return { kind: 'gone' }
    }
    known.changed = entry.changed
    if (isDue(line, entry)) return this.grant(known, line)
    if (holdingOf(line, entry.id) !== undefined) return this.noteFound(known, entry, line, sentAtMs)
    if (known.lease.retired && !(await rebind(this.desk, known, this.leaseFor(known.claim))))
      return { kind: 'gone' }
    this.watch(known, line, entry)
    return blocked(line, positionOf(line, known.claim.id), sentAtMs, runtime)
  }

  /** Looks whether the claim's turn has come. A look that was under way may have been too early to tell. */
  async look(known: Known): Promise<Look> {
    known.asked = true
    const earlier = await known.looking
    if (earlier !== null && earlier.kind !== 'blocked') return earlier
    known.asked = true
    return this.lookOnce(known)
  }

  /** Tells the holder that somebody waits, by a letter that ends with its lease. */
  async tellHolder({ holder }: Known): Promise<void> {
    if (holder === null) return
    const present: Compare = { target: 'create', key: holder.name, is: '=', value: holder.created }
    await this.desk.client.txn({ compare: [present], success: [letterOp('contended', holder)], failure: [] })
  }

  private lookOnce(known: Known): Promise<Look> {
    known.looking ??= this.lookNow(known).finally(() => {
      known.looking = null
    })
    return known.looking
  }

  /** Makes it a hold if its turn has come: in one transaction where etcd can compare. */
  private async lookNow(known: Known): Promise<Look> {
    const alternatives = isNext(known.claim, known.created)
    if (alternatives.length === 0) return this.readAndSettle(known)
    return withLeases(async () => {
      const draft = await this.draft(known)
      const { key } = known.claim
      const count: Op = { kind: 'range', ...zonesOf(key, SHARED, DELAY), countOnly: true }
      const success = [...holdOps(draft), count]
      const own = unchanged(known)
      let failure: Op = whole(key)
      for (const guards of alternatives.slice(1)) {
        failure = { kind: 'txn', compare: [own, ...guards], success, failure: [failure] }
      }
      const [guards] = alternatives as readonly [readonly Compare[]]
      const txn = { compare: [own, ...guards], success, failure: [failure] }
      const answer = await this.send(draft, txn)
      const counted = answer.granted
      if (counted !== null) return this.noteGranted(known, draft, answer.revision, counted > 1)
      return this.settle(known, lineOf(key, answer.kvs, answer.revision), draft.sentAtMs)
    })
  }

  private async readAndSettle(known: Known): Promise<Look> {
    const sentAtMs = this.desk.runtime.nowMs()
    const { key } = known.claim
    const { kvs, header } = await this.desk.client.range(whole(key))
    return this.settle(known, lineOf(key, kvs, header.revision), sentAtMs)
  }

  /** The line was read and says that it is the claim's turn: it is, if nothing came to the line since. */
  private async grant(known: Known, seen: Line): Promise<Look> {
    let line = seen
    for (let looks = 0; looks < LOOKS; looks++) {
      const draft = await this.draft(known)
      const { key, id } = known.claim
      const compare = [unchanged(known), ...nothingNew(line)]
      const answer = await this.send(draft, { compare, success: holdOps(draft), failure: [whole(key)] })
      if (answer.granted !== null)
        return this.noteGranted(known, draft, answer.revision, line.waiting.length > 0)
      line = lineOf(key, answer.kvs, answer.revision)
      const entry = findEntry(line, id)
      const again = entry !== undefined && entry.changed === known.changed && isDue(line, entry)
      if (!again) return this.settle(known, line, draft.sentAtMs)
    }
    throw new Error('the line of the key changes too fast')
  }

  private async draft(known: Known): Promise<Draft> {
    const { claim } = known
    return draftHold(this.desk, claim, await meansFor(this.desk, claim), undefined, { granted: true })
  }

  private async send(
    { claim, means }: Draft,
    txn: Txn,
  ): Promise<{ granted: number | null; kvs: readonly KeyValue[]; revision: number }> {
    const fresh = this.desk.leases.fresh(means.lease, claim.ttlMs)
    const [answer] = await Promise.all([bind(this.desk, leasesOf(means), txn), fresh])
    const { revision } = answer.header
    let result: { succeeded: boolean; results: typeof answer.results } = answer
    while (!result.succeeded && result.results[0]?.txn != null) result = result.results[0].txn
    const last = result.results.at(-1)
    return { granted: result.succeeded ? (last?.count ?? 0) : null, kvs: last?.kvs ?? [], revision }
  }

  private noteGranted(known: Known, draft: Draft, revision: number, contended: boolean): ClaimAnswer {
    if (!this.desk.book.has(known)) return granted(revision, known.claim, contended)
    const held = noteHold(this.desk, draft, known.created, revision)
    return granted(held.seq, held.claim, contended)
  }

  /** An earlier look made it a hold, and its answer was lost. */
  private noteFound(known: Known, entry: Entry, line: Line, sentAtMs: number): ClaimAnswer {
    const { book, leases } = this.desk
    known.state = 'held'
    known.value = entry.value
    known.seq = entry.seq
    known.lease = leases.find(entry.lease) ?? known.lease
    known.delayName = known.claim.lockDelayMs === 0 ? null : delayName(known.claim)
    known.endsAtMs = Math.max(known.endsAtMs, sentAtMs + known.claim.ttlMs)
    book.settle(known)
    return granted(entry.seq, known.claim, line.waiting.length > 0)
  }

  private watch(known: Known, line: Line, entry: Entry): void {
    const { book, client, runtime } = this.desk
    const first = positionOf(line, known.claim.id) === 1
    const holder = line.holds[0]?.members[0] ?? null
    if (first && holder?.mode.kind === 'exclusive' && holder.name !== known.holder?.name) {
      known.holder = holder
      known.tellAtMs = runtime.nowMs() + TELL_HOLDER_AFTER_MS
      book.watch(known)
    }
    const range = blockerOf(line, entry)
    if (range === null || known.watched === range.key) return
    known.stopWatch?.()
    known.watched = range.key
    const turn = (): void => this.turn(known)
    known.stopWatch = client.watcher.watch(
      { ...range, fromRevision: line.revision + 1, ignore: 'puts' },
      { changed: turn, missed: turn },
    )
  }

  /** Something before the claim changed. Whoever waits for it is told what that means. */
  private turn(known: Known): void {
    const { book, runtime } = this.desk
    if (!book.has(known) || known.state !== 'waiting') return
    known.stopWatch?.()
    known.stopWatch = null
    known.watched = null
    if (known.looking === null) known.asked = false
    const sentAtMs = runtime.nowMs()
    // What cannot be known now is looked at again by whoever waits.
    this.lookOnce(known).then((answer) => {
      if (!known.asked) this.push(known.claim, answer, sentAtMs)
    }, ignore)
  }

  private push(claim: Claim, answer: Look, sentAtMs: number): void {
    const { book } = this.desk
    const { key, id, ttlMs } = claim
    if (answer.kind === 'gone') this.desk.tell({ kind: 'lost', key, id, cause: 'expired' })
    if (answer.kind !== 'granted') return
    const held = book.get(claim)
    const lifeMs = Math.min(ttlMs, OFFER_MS)
    if (held?.state !== 'held' || held.lease.aliveUntilMs < sentAtMs + lifeMs) return
    held.offerEndsAtMs = sentAtMs + lifeMs
    book.watch(held)
    const { token, spare, contended } = answer
    this.desk.tell({ kind: 'granted', key, id, token, spare, contended, storeTimeMs: sentAtMs, lifeMs })
  }
}

function ignore(): void {}
