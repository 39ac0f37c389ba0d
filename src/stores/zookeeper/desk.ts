import { TimerHeap } from '../../core/calls/timer-heap.ts'
import type { Runtime } from '../../core/runtime.ts'
import type { StoreNotice } from '../../core/store.ts'
import type { Claim, LossCause } from '../../model/index.ts'
import type { EnsembleClock } from './clock.ts'
import { Entry, type OwnNode } from './entry.ts'
import type { LockSession } from './lock-session.ts'
import type { Paths } from './names.ts'
import { Queue } from './queue.ts'
import type { Sessions } from './sessions.ts'
import type { Created } from './wire/client.ts'
import { isWire } from './wire/errors.ts'
import type { Acl } from './wire/protocol.ts'

/** A hold that lasts is watched over from then on; one that is over sooner costs nothing more. */
const GUARD_AFTER_MS = 50
/** The same where nothing is left to be told but the wish of an operator; and who waits so long wants to know for whom. */
const LASTS_MS = 250

/** More keys than that are forgotten together: to be wrong costs one refused request. */
const MOST_CONTENDED = 1000

/** What happens to a claim by itself. */
export interface DeskEvents {
  /** Its alarm. */
  ring(entry: Entry, nowMs: number): void
  /** Something before it in the queue has changed, or may have. */
  wake(entry: Entry): void
  /** Somebody came to a key that it holds; who that is may be asked from `atMs` on. */
  arrived(entry: Entry, atMs: number): void
}

/** What the operations of one store share: its claims, the sessions, and who listens. */
export class Desk {
  readonly runtime: Runtime
  readonly paths: Paths
  readonly acl: readonly Acl[]
  readonly sessions: Sessions
  readonly clock: EnsembleClock
  readonly events: DeskEvents
  /** Keys that others waited for when we let go of them. */
  private readonly contendedKeys = new Set<string>()
  private readonly entries = new Map<string, Entry>()
  private readonly timers: TimerHeap
  private readonly listeners = new Set<(notice: StoreNotice) => void>()

  constructor(sessions: Sessions, events: DeskEvents) {
    this.runtime = sessions.runtime
    this.paths = sessions.paths
    this.acl = sessions.acl
    this.clock = sessions.clock
    this.sessions = sessions
    this.timers = new TimerHeap(this.runtime, true)
    this.events = events
  }

  /** Others waited for the key when we let go of it. */
  noteContended(keyPath: string): void {
    if (this.contendedKeys.size >= MOST_CONTENDED) this.contendedKeys.clear()
    this.contendedKeys.add(keyPath)
  }

  /** Whether others were there; who asks again has to meet them again. */
  wasContended(keyPath: string): boolean {
    return this.contendedKeys.delete(keyPath)
  }

  find({ key, id }: Pick<Claim, 'key' | 'id'>): Entry | undefined {
    return this.entries.get(id + key)
  }

  /** From now on the claim ends at its deadline, whatever becomes of the calls about it. */
  enter(claim: Claim, sentAtMs: number): Entry {
    const entry = new Entry(this, claim, this.paths.lock(claim.key), sentAtMs)
    this.entries.set(claim.id + claim.key, entry)
    this.timers.set(entry, entry.deadlineMs)
    return entry
  }

  /** The session has counted the entry's bytes already; those of another that it had are free. */
  attach(entry: Entry, session: LockSession): void {
    if (entry.session !== session) this.detach(entry)
    entry.session = session
    session.usedAtMs = this.runtime.nowMs()
    session.hasServed = true
    session.entries.add(entry)
  }

  private detach(entry: Entry): void {
    const { session, bytes } = entry
    if (session === null || !session.entries.has(entry)) return
    session.leave(entry)
    this.sessions.giveBack(session, bytes)
  }

  /** The claim has its whole ttl from now on. */
  prolong(entry: Entry): void {
    entry.deadlineMs = this.runtime.nowMs() + entry.claim.ttlMs
  }

  /** Nothing of the claim is left in ZooKeeper, or nothing ever was. */
  forget(entry: Entry): void {
    entry.phase = 'over'
    this.timers.remove(entry)
    this.detach(entry)
    const { key, id } = entry.claim
    if (this.entries.get(id + key) === entry) this.entries.delete(id + key)
  }

  stand(entry: Entry, node: OwnNode, alone: boolean): void {
    entry.node = node
    entry.alone = alone
  }

  /** The claim holds the key until then; a renewal never makes that shorter. */
  hold(entry: Entry, phase: 'held' | 'offered', untilMs: number): void {
    // A grant for an answer never lives shorter than it did when it was asked for; an offer does.
    entry.deadlineMs = phase === 'offered' ? untilMs : Math.max(entry.deadlineMs, untilMs)
    const begins = !entry.holds
    entry.phase = phase
    if (begins) {
      entry.heldAtMs = this.runtime.nowMs()
      this.wakeWithin(entry, entry.contended ? LASTS_MS : GUARD_AFTER_MS)
    } else this.timers.set(entry, Math.min(entry.dueMs, entry.deadlineMs))
  }

  /** A position in the queue is kept until then. */
  wait(entry: Entry, untilMs: number): void {
    const begins = entry.phase !== 'waiting'
    entry.phase = 'waiting'
    entry.deadlineMs = Math.max(entry.deadlineMs, untilMs)
    if (begins) this.wakeWithin(entry, LASTS_MS)
  }

  wakeAt(entry: Entry, dueMs: number): void {
    this.timers.set(entry, dueMs)
  }

  private wakeWithin(entry: Entry, delayMs: number): void {
    this.timers.set(entry, Math.min(entry.deadlineMs, this.runtime.nowMs() + delayMs))
  }

  /** Ended by somebody else: an operator, or the ensemble together with the session. A waiter has to join the queue again. */
  lose(entry: Entry, cause: LossCause): void {
    const { key, id } = entry.claim
    const { holds, phase } = entry
    this.forget(entry)
    if (holds) this.tell({ kind: 'lost', key, id, cause })
    else if (phase === 'waiting') this.tell({ kind: 'retry', key, id })
  }

  /** After the call that it is about has returned. */
  tell(notice: StoreNotice): void {
    for (const listener of this.listeners) this.runtime.defer(() => listener(notice))
  }

  listen(listener: (notice: StoreNotice) => void): () => void {
    const own = (notice: StoreNotice) => listener(notice)
    this.listeners.add(own)
    return () => this.listeners.delete(own)
  }

  /** The queue of a key as the leader knows it now; null when the key is not in use. */
  look(session: LockSession, keyPath: string): Promise<Queue | null> {
    return session.oncePerTurn(keyPath, async () => {
      const [, queue] = await both(
        session.client.sync(this.paths.root),
        this.queueAt(session.client, keyPath),
      )
      return queue
    })
  }

  /** The same as this session's server knows it: no older than what the session has seen or done. */
  async queueAt(client: LockSession['client'], keyPath: string): Promise<Queue | null> {
    try {
      return new Queue(await client.list(keyPath))
    } catch (error) {
      if (isWire(error, 'NoNode')) return null
      throw error
    }
  }

  learn({ stat }: Created): void {
    this.clock.learn(stat.ctimeMs)
  }

  /** What it has in ZooKeeper goes, at once or with the session; a key that is kept closed stays so. */
  async close(end: (entry: Entry) => Promise<void>): Promise<void> {
    this.listeners.clear()
    const entries = [...this.entries.values()].filter(({ phase }) => phase !== 'closed')
    await this.sessions.close(() => Promise.allSettled(entries.map(end)))
    // Else they go on to end what could not be deleted yet, and what keeps a key closed.
    if (this.sessions.isOver) this.timers.clear()
  }
}

/** Like `Promise.all`, but nothing is left to reject on its own. */
export async function both<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  const [one, other] = await Promise.allSettled([first, second])
  if (one.status === 'rejected') throw one.reason
  if (other.status === 'rejected') throw other.reason
  return [one.value, other.value]
}
