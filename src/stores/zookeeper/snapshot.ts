import { isWire } from './client/errors.ts'
import type { LockSession } from './client/lock-session.ts'
import type { WatchKind } from './client/protocol.ts'
import { findClaim } from './context.ts'
import type { LocalClaim } from './local-claims.ts'
import { type NodeName, parseName } from './names.ts'
import { compareSeq, NodeQueue } from './node-queue.ts'
import { type HolderInfo, nameOfHolder, readHolder } from './read.ts'

/** Holders list the queue for new waiters at most this often. */
const LOOK_EVERY_MS = 250

/** Listing a shorter queue costs less than a watch that is not needed, and less than watching more nodes. */
const MOST_WATCHED = 32

/** A watched node, for all claims of this session that wait for it. */
interface Watch {
  readonly followers: Set<LocalClaim>
  /** True if the server has confirmed the watch. */
  isArmed: boolean
  /** False when the node is gone. */
  readonly isThere: Promise<boolean>
}

/**
 * A session's knowledge of the queue of one key, shared by all claims of this process there. Thousands share one list and watch each
 * node once: a claim that joins right behind the last known node adds itself, and a deleted node is removed. The queue is listed
 * again only if its state cannot be concluded.
 */
export class QueueSnapshot {
  queue = new NodeQueue()
  readonly users = new Set<LocalClaim>()
  private readonly session: LockSession
  private readonly keyPath: string
  /** The queue has all nodes up to that number; null before the first list. */
  private knownUpTo: number | null = null
  /** A node is gone, and its position may have another one: a list must show that before the next grant. */
  isDoubtful = false
  private listing: Promise<boolean> | null = null
  private listedAtMs = Number.NEGATIVE_INFINITY
  private arrivalsWatched = false
  private readonly watches = new Map<string, Watch>()
  private holderName: string | undefined
  private holderRead: Promise<HolderInfo | null> = Promise.resolve(null)

  constructor(session: LockSession, keyPath: string) {
    this.session = session
    this.keyPath = keyPath
  }

  get isKnown(): boolean {
    return this.knownUpTo !== null
  }

  /** Lists the queue, once for all concurrent callers. False when the key is not in use. */
  list(): Promise<boolean> {
    if (this.listing === null) {
      const listing = this.listNow(false)
      const end = (): void => {
        if (this.listing === listing) this.listing = null
      }
      this.listing = listing
      listing.then(end, end)
    }
    return this.listing
  }

  private async listNow(watchArrivals: boolean): Promise<boolean> {
    const { client, nowMs } = this.session
    const watcher = watchArrivals ? () => this.arrived() : undefined
    try {
      const names = await client.list(this.keyPath, watcher)
      this.queue = new NodeQueue(names)
      this.knownUpTo = this.queue.lastSeq
      this.isDoubtful = false
      this.listedAtMs = nowMs()
      return true
    } catch (error) {
      if (!isWire(error, 'NoNode')) throw error
      this.queue = new NodeQueue()
      this.knownUpTo = null
      return false
    }
  }

  /**
   * Makes all nodes before a new node of this session known. ZooKeeper numbers the nodes of a key without gaps, so a node that
   * follows the last known one is the next. False when the node is gone already.
   */
  async include(name: string): Promise<boolean> {
    const node = parseName(name)
    // The first list may have been requested before the node was made.
    for (let lists = 0; this.queue.find(name) === undefined; lists++) {
      if (this.isNext(node)) {
        this.queue.add(node)
        this.knownUpTo = node.seq
      } else if (lists === 2 || !(await this.list())) return false
    }
    return true
  }

  private isNext({ seq, position }: NodeName): boolean {
    if (position !== null || this.knownUpTo === null || compareSeq(seq, this.knownUpTo) !== 1) return false
    // The numbers restart in a new container. A watched node proves that the container is the same.
    for (const [name, { isArmed }] of this.watches)
      if (isArmed && this.queue.find(name) !== undefined) return true
    return false
  }

  /** Watches one node of many holders, so that the next claims can join without a list. */
  anchor(name: string): void {
    if (this.watches.size === 0 && this.queue.length >= MOST_WATCHED) this.attend(name, new Set())
  }

  /** Lists the queue unless a list is recent. */
  async refresh(): Promise<void> {
    if (this.session.nowMs() - this.listedAtMs >= LOOK_EVERY_MS) await this.list()
  }

  /** Watches nodes for a claim, and wakes it when one of them goes. False when one is gone already. */
  async follow(local: LocalClaim, names: readonly string[]): Promise<boolean> {
    const answers = await Promise.allSettled(names.map((name) => this.watch(name, local)))
    let allThere = true
    for (const answer of answers) {
      if (answer.status === 'rejected') throw answer.reason
      allThere &&= answer.value
    }
    return allThere
  }

  /** True if the server would have reported the end of the node. */
  isArmed(name: string): boolean {
    return this.watches.get(name)?.isArmed === true
  }

  private watch(name: string, follower: LocalClaim): Promise<boolean> {
    const watch = this.watches.get(name) ?? this.attend(name, new Set())
    watch.followers.add(follower)
    return watch.isThere
  }

  private attend(name: string, followers: Set<LocalClaim>): Watch {
    const path = `${this.keyPath}/${name}`
    const asked = this.session.client.attend(path, ({ kind }) => this.changed(name, kind))
    const isThere = asked.then(
      () => {
        watch.isArmed = true
        return true
      },
      (error: unknown) => {
        if (this.watches.get(name) === watch) this.watches.delete(name)
        if (!isWire(error, 'NoNode')) throw error
        this.gone(name)
        return false
      },
    )
    const watch: Watch = { followers, isArmed: false, isThere }
    this.watches.set(name, watch)
    isThere.catch(() => {})
    return watch
  }

  private changed(name: string, kind: WatchKind): void {
    const watch = this.watches.get(name)
    if (watch === undefined) return
    this.watches.delete(name)
    if (kind === 'changed') {
      this.released(name)
      wakeAll(watch.followers)
    } else void this.watchAgain(name, watch.followers)
  }

  /** The node was deleted or remade, for example in a longer session. */
  private async watchAgain(name: string, followers: Set<LocalClaim>): Promise<void> {
    this.holderName = undefined
    try {
      if (await this.attend(name, followers).isThere) return
    } catch {
      // After the next reconnect the queue is listed.
      return
    }
    wakeAll(followers)
  }

  /** A holder changes its node just before it deletes it, so nothing was left before an exclusive one. */
  private released(name: string): void {
    if (parseName(name).mode.kind !== 'exclusive') {
      this.queue.remove(name)
      return
    }
    this.queue.removeThrough(name)
    // The positions behind it never held, so none of them has another node.
    this.isDoubtful = false
  }

  /** Removes a node that we deleted. Only a named owner can have another node at its position. */
  ended(name: string): void {
    if (parseName(name).owner !== null) this.isDoubtful = true
    this.queue.remove(name)
  }

  /** A named owner may have another node at the position, and a writer may have become a reader there. */
  private gone(name: string): void {
    const { mode, owner } = parseName(name)
    if (mode.kind === 'exclusive' || owner !== null) this.isDoubtful = true
    this.queue.remove(name)
  }

  /** True if others wait; lists the queue, once for all concurrent holders, unless that is known. */
  async learnContended(local: LocalClaim): Promise<boolean> {
    const isKnown = this.queue.isContended ? await this.isWaitedFor(local) : this.arrivalsWatched
    if (!isKnown) await this.list()
    return this.queue.isContended
  }

  /** True if the first waiter and the nodes that block it still exist. Watches those that are not ours. */
  private async isWaitedFor({ context, claim: { key } }: LocalClaim): Promise<boolean> {
    const first = this.queue.firstWaiter
    if (first === undefined) return false
    const isOurs = (name: string) => findClaim(context, { key, id: parseName(name).id })?.node?.name === name
    const shown = [(first.nodes[0] as NodeName).name, ...this.queue.watchedBy(first)]
    const others = shown.filter((name) => !isOurs(name))
    if (others.length > MOST_WATCHED) return false
    const watches = others.map((name) => this.watches.get(name) ?? this.attend(name, new Set()))
    return (await Promise.all(watches.map(({ isThere }) => isThere))).every(Boolean)
  }

  /** Watches for the next claim on the key. Returns whether it has listed the queue for that. */
  async watchArrivals(): Promise<boolean> {
    if (this.arrivalsWatched) return false
    this.arrivalsWatched = true
    // After a failure, the next renewal watches again.
    const isListed = await this.listNow(true).catch(() => false)
    if (!isListed) this.arrivalsWatched = false
    return isListed
  }

  private arrived(): void {
    this.arrivalsWatched = false
    for (const local of this.users) {
      if (!local.holds || local.contended) continue
      const nowMs = this.session.nowMs()
      local.context.events.arrived(local, Math.max(nowMs, this.listedAtMs + LOOK_EVERY_MS))
      return
    }
  }

  /** The holder of the key, read once per holder; null when it has just gone. */
  holder(): Promise<HolderInfo | null> {
    const name = nameOfHolder(this.queue)
    if (name !== this.holderName) {
      this.holderName = name
      this.holderRead = this.readHolderNow(name)
    }
    return this.holderRead
  }

  private async readHolderNow(name: string | undefined): Promise<HolderInfo | null> {
    let holder: HolderInfo | null = null
    try {
      holder = await readHolder(this.session, this.keyPath, this.queue)
      return holder
    } finally {
      if (holder === null && this.holderName === name) this.holderName = undefined
    }
  }

  /** Lists the queue after a reconnect, because the server reports the missed changes in no order. */
  async reconnected(): Promise<void> {
    const waiting = [...this.users].filter(({ phase }) => phase === 'waiting')
    if (waiting.length === 0) return
    await this.list()
    wakeAll(waiting)
  }
}

function wakeAll(locals: Iterable<LocalClaim>): void {
  for (const local of locals) local.context.events.wake(local)
}
