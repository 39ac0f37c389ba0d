import type { Entry } from './local-claims.ts'
import { type HolderSeen, nameOfHolder, readHolder } from './holder.ts'
import type { LockSession } from './client/lock-session.ts'
import { type NodeName, parseName } from './names.ts'
import { compareSeq, Queue } from './node-queue.ts'
import { isWire } from './client/errors.ts'
import type { WatchKind } from './client/protocol.ts'

/** Crowds come and go: those who hold the key look that often for others that wait. */
const LOOK_EVERY_MS = 250

/** A shorter queue is listed faster than a node is watched for nothing, and a queue faster than more nodes are watched. */
const CROWD = 32

/** A node whose end we will be told, for all claims of this session that wait for it. */
interface Watch {
  readonly followers: Set<Entry>
  /** Whether the server has said so. */
  isArmed: boolean
  /** Settles once the server has answered; false when the node is not there. */
  readonly isThere: Promise<boolean>
}

/**
 * What one session knows of the queue of one key, for all claims of this process that wait or hold there. A thousand of them share one
 * list and watch each node once: a claim that joins right behind the last known node adds itself, and a node that goes is taken out. Only
 * what cannot be concluded is listed again.
 */
export class Snapshot {
  queue = new Queue()
  readonly users = new Set<Entry>()
  private readonly session: LockSession
  private readonly keyPath: string
  /** Of the nodes up to that number the queue has all that are there; null before the first list. */
  private knownUpTo: number | null = null
  /** A node is gone, and another may stand at its place: that has to be listed before anybody is said to hold. */
  isDoubtful = false
  private listing: Promise<boolean> | null = null
  private listedAtMs = Number.NEGATIVE_INFINITY
  private arrivalsWatched = false
  private readonly watches = new Map<string, Watch>()
  private holderName: string | undefined
  private holding: Promise<HolderSeen | null> = Promise.resolve(null)

  constructor(session: LockSession, keyPath: string) {
    this.session = session
    this.keyPath = keyPath
  }

  get isKnown(): boolean {
    return this.knownUpTo !== null
  }

  /** One list at a time, for everybody who needs one. False when the key is not in use. */
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
      this.queue = new Queue(names)
      this.knownUpTo = this.queue.lastSeq
      this.isDoubtful = false
      this.listedAtMs = nowMs()
      return true
    } catch (error) {
      if (!isWire(error, 'NoNode')) throw error
      this.queue = new Queue()
      this.knownUpTo = null
      return false
    }
  }

  /**
   * Makes sure that all before a node, which was just made through this session, are known. ZooKeeper numbers the nodes of a
   * key without gaps, so one that follows the last known is the next. False when the node is gone already.
   */
  async include(name: string): Promise<boolean> {
    const node = parseName(name)
    // The first list may have been asked for before the node was made.
    for (let lists = 0; this.queue.find(name) === undefined; lists++) {
      if (this.isNext(node)) {
        this.queue.add(node)
        this.knownUpTo = node.seq
      } else if (lists === 2 || !(await this.list())) return false
    }
    return true
  }

  private isNext({ seq, place }: NodeName): boolean {
    if (place !== null || this.knownUpTo === null || compareSeq(seq, this.knownUpTo) !== 1) return false
    // The numbers begin anew with a new container. It is the same as long as a node in it is there.
    for (const [name, { isArmed }] of this.watches)
      if (isArmed && this.queue.find(name) !== undefined) return true
    return false
  }

  /** So that those who join a crowd of holders, where nobody waits for anybody, need not list it either. */
  anchor(name: string): void {
    if (this.watches.size === 0 && this.queue.length >= CROWD) this.attend(name, new Set())
  }

  /** Lists again unless that was done a moment ago. */
  async refresh(): Promise<void> {
    if (this.session.nowMs() - this.listedAtMs >= LOOK_EVERY_MS) await this.list()
  }

  /** Whether all those nodes are there. If they are, the claim will be woken when one of them goes. */
  async follow(entry: Entry, names: readonly string[]): Promise<boolean> {
    const answers = await Promise.allSettled(names.map((name) => this.watch(name, entry)))
    let allThere = true
    for (const answer of answers) {
      if (answer.status === 'rejected') throw answer.reason
      allThere &&= answer.value
    }
    return allThere
  }

  /** Whether the end of the node would have been told to us. */
  isArmed(name: string): boolean {
    return this.watches.get(name)?.isArmed === true
  }

  private watch(name: string, follower: Entry): Promise<boolean> {
    const watch = this.watches.get(name) ?? this.attend(name, new Set())
    watch.followers.add(follower)
    return watch.isThere
  }

  private attend(name: string, followers: Set<Entry>): Watch {
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
        this.vanished(name)
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
      this.saidFarewell(name)
      wakeAll(watch.followers)
    } else void this.lookAgain(name, watch.followers)
  }

  /** The node was deleted, or made anew: for a longer session, say. */
  private async lookAgain(name: string, followers: Set<Entry>): Promise<void> {
    this.holderName = undefined
    try {
      if (await this.attend(name, followers).isThere) return
    } catch {
      // With the next connection everybody looks again.
      return
    }
    wakeAll(followers)
  }

  /** The last that a holder does is to change its node. So nobody was left before an exclusive one. */
  private saidFarewell(name: string): void {
    if (parseName(name).mode.kind !== 'exclusive') {
      this.queue.remove(name)
      return
    }
    this.queue.removeThrough(name)
    // Those behind it never held, so that nobody else stands at the place of one that is gone.
    this.isDoubtful = false
  }

  /** We deleted it ourselves. Only a named owner can have another node at that place. */
  ended(name: string): void {
    if (parseName(name).owner !== null) this.isDoubtful = true
    this.queue.remove(name)
  }

  /** A named owner may have another node at that place, and a writer may have become a reader there. */
  private vanished(name: string): void {
    const { mode, owner } = parseName(name)
    if (mode.kind === 'exclusive' || owner !== null) this.isDoubtful = true
    this.queue.remove(name)
  }

  /** Whether others wait: one list tells all holders that ask at the same time, unless it is known. */
  async learnContended(entry: Entry): Promise<boolean> {
    const isKnown = this.queue.isContended ? await this.isWaitedFor(entry) : this.arrivalsWatched
    if (!isKnown) await this.list()
    return this.queue.isContended
  }

  /** Whether the first waiter and what it waits for are there. Of those that are not ours we are told when one goes. */
  private async isWaitedFor({ desk, claim: { key } }: Entry): Promise<boolean> {
    const first = this.queue.firstWaiter
    if (first === undefined) return false
    const isOurs = (name: string) => desk.find({ key, id: parseName(name).id })?.node?.name === name
    const shown = [(first.nodes[0] as NodeName).name, ...this.queue.watchedBy(first)]
    const others = shown.filter((name) => !isOurs(name))
    if (others.length > CROWD) return false
    const watches = others.map((name) => this.watches.get(name) ?? this.attend(name, new Set()))
    return (await Promise.all(watches.map(({ isThere }) => isThere))).every(Boolean)
  }

  /** Asks to be told, once, that somebody came. Whether the queue was listed for that. */
  async watchArrivals(): Promise<boolean> {
    if (this.arrivalsWatched) return false
    this.arrivalsWatched = true
    // Where that fails, the next renewal tells.
    const isListed = await this.listNow(true).catch(() => false)
    if (!isListed) this.arrivalsWatched = false
    return isListed
  }

  private arrived(): void {
    this.arrivalsWatched = false
    for (const entry of this.users) {
      if (!entry.holds || entry.contended) continue
      const nowMs = this.session.nowMs()
      entry.desk.events.arrived(entry, Math.max(nowMs, this.listedAtMs + LOOK_EVERY_MS))
      return
    }
  }

  /** Who holds the key; read once for each holder. Null when it has just gone. */
  holder(): Promise<HolderSeen | null> {
    const name = nameOfHolder(this.queue)
    if (name !== this.holderName) {
      this.holderName = name
      this.holding = this.learnHolder(name)
    }
    return this.holding
  }

  private async learnHolder(name: string | undefined): Promise<HolderSeen | null> {
    let holder: HolderSeen | null = null
    try {
      holder = await readHolder(this.session, this.keyPath, this.queue)
      return holder
    } finally {
      if (holder === null && this.holderName === name) this.holderName = undefined
    }
  }

  /** There is a connection again. What happened meanwhile is not told in any order, so the queue is listed. */
  async reconnected(): Promise<void> {
    const waiting = [...this.users].filter(({ phase }) => phase === 'waiting')
    if (waiting.length === 0) return
    await this.list()
    wakeAll(waiting)
  }
}

function wakeAll(entries: Iterable<Entry>): void {
  for (const entry of entries) entry.desk.events.wake(entry)
}
