import { Alarms } from '../../core/alarms.ts'
import type { Runtime } from '../../core/runtime.ts'
import type { StoreNotice } from '../../core/store.ts'
import type { Claim, LossCause } from '../../model/index.ts'
import { EnsembleClock } from './clock.ts'
import { Crowds } from './crowds.ts'
import { Entry, type OwnNode } from './entry.ts'
import { type Line, lineOf } from './line.ts'
import type { Paths } from './names.ts'
import { type EnsembleOptions, type LockSession, Sessions, type SessionsListener } from './sessions.ts'
import type { Created } from './wire/client.ts'
import { isWire } from './wire/errors.ts'
import type { Acl } from './wire/protocol.ts'
import type { Watcher } from './wire/watches.ts'

/** A hold that lasts is watched over from then on; one that is over sooner costs nothing more. */
const GUARD_AFTER_MS = 50
/** The same where nothing is left to be told but the wish of an operator; and who waits so long wants to know for whom. */
const LASTS_MS = 250

/** What happens to a claim by itself. */
export interface DeskEvents extends SessionsListener {
  /** Its alarm. */
  ring(entry: Entry, nowMs: number): void
  /** Somebody before it has left the line; `held` when it is sure to have held the key until then. */
  left(entry: Entry, held: boolean): void
}

/** What the operations of the store share: the claims of this process, their sessions, and who listens. */
export class Desk {
  readonly runtime: Runtime
  readonly paths: Paths
  readonly acl: readonly Acl[]
  readonly sessions: Sessions
  readonly clock: EnsembleClock
  readonly crowds = new Crowds()
  readonly events: DeskEvents
  private readonly entries = new Map<string, Entry>()
  private readonly alarms: Alarms
  private readonly listeners = new Set<(notice: StoreNotice) => void>()

  constructor(options: EnsembleOptions, paths: Paths, acl: readonly Acl[], events: DeskEvents) {
    this.runtime = options.runtime
    this.paths = paths
    this.acl = acl
    this.clock = new EnsembleClock(options.runtime)
    this.sessions = new Sessions(options, paths.root, events)
    this.alarms = new Alarms(options.runtime, true)
    this.events = events
  }

  find({ key, id }: Pick<Claim, 'key' | 'id'>): Entry | undefined {
    return this.entries.get(id + key)
  }

  /** From now on the claim ends at its deadline, whatever becomes of the calls about it. */
  enter(claim: Claim, sentAtMs: number): Entry {
    const entry = new Entry(claim, this.paths.lock(claim.key), sentAtMs, this.events.ring)
    this.entries.set(claim.id + claim.key, entry)
    this.alarms.set(entry, entry.deadlineMs)
    return entry
  }

  attach(entry: Entry, session: LockSession): void {
    entry.session?.entries.delete(entry)
    entry.session = session
    session.usedAtMs = this.runtime.nowMs()
    session.hasServed = true
    session.entries.add(entry)
  }

  /** The claim has its whole ttl from now on. */
  prolong(entry: Entry): void {
    entry.deadlineMs = this.runtime.nowMs() + entry.claim.ttlMs
  }

  /** Nothing of the claim is left in ZooKeeper, or nothing ever was. */
  forget(entry: Entry): void {
    entry.phase = 'over'
    this.alarms.remove(entry)
    entry.session?.entries.delete(entry)
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
    } else this.alarms.set(entry, Math.min(entry.dueMs, entry.deadlineMs))
  }

  /** A place in the line is kept until then. */
  wait(entry: Entry, untilMs: number): void {
    const begins = entry.phase !== 'waiting'
    entry.phase = 'waiting'
    entry.deadlineMs = Math.max(entry.deadlineMs, untilMs)
    if (begins) this.wakeWithin(entry, LASTS_MS)
  }

  wakeAt(entry: Entry, dueMs: number): void {
    this.alarms.set(entry, dueMs)
  }

  private wakeWithin(entry: Entry, delayMs: number): void {
    this.alarms.set(entry, Math.min(entry.deadlineMs, this.runtime.nowMs() + delayMs))
  }

  /** Ended by somebody else: an operator, or the ensemble together with the session. */
  lose(entry: Entry, cause: LossCause): void {
    const { key, id } = entry.claim
    const told = entry.holds || entry.phase === 'waiting'
    this.forget(entry)
    if (told) this.tell({ kind: 'lost', key, id, cause })
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

  /** The line of a key as the leader knows it now; null when the key is not in use. */
  async look({ client }: LockSession, keyPath: string): Promise<Line | null> {
    const synced = client.sync(this.paths.root)
    const listed = this.lineAt(client, keyPath)
    const [, line] = await both(synced, listed)
    return line
  }

  /** The same as this session's server knows it: no older than what the session has seen or done. */
  async lineAt(client: LockSession['client'], keyPath: string, watcher?: Watcher): Promise<Line | null> {
    try {
      return lineOf(await client.list(keyPath, watcher))
    } catch (error) {
      if (isWire(error, 'NoNode')) return null
      throw error
    }
  }

  learn({ stat }: Created): void {
    this.clock.learn(stat.ctimeMs)
  }

  async close(): Promise<void> {
    this.listeners.clear()
    await this.sessions.close()
    this.alarms.clear()
    this.entries.clear()
  }
}

/** Like `Promise.all`, but nothing is left to reject on its own. */
export async function both<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  const [one, other] = await Promise.allSettled([first, second])
  if (one.status === 'rejected') throw one.reason
  if (other.status === 'rejected') throw other.reason
  return [one.value, other.value]
}
