import type { Runtime } from '../../../core/runtime.ts'
import type {
  Admin,
  ClaimReply,
  Records,
  ReleaseReply,
  RenewReply,
  Store,
  StoreNotice,
  Traits,
  Transactions,
  Unknown,
} from '../../../core/store.ts'
import type { Claim, KeyNotification } from '../../../model/index.ts'
import type { Patience } from '../patience.ts'
import { ServerAdmin } from './admin.ts'
import { Cleaner } from './cleaner.ts'
import { positionOfTicket } from './excerpts.ts'
import { Inspection } from './inspection.ts'
import { JointTransactions } from './joint.ts'
import { Locker } from './locker.ts'
import { Poller } from './poller.ts'
import { ServerRecords } from './records.ts'
import { CLAIMS_PER_LOOK } from './rules.ts'
import { type Database, placeName } from './tables.ts'
import { claimTasks, evictTask, NOBODY, releaseTask, renewTask } from './tasks.ts'
import { Waiting } from './waiting.ts'

/** How the database tells this process what it must know; a database that cannot is asked instead. */
export interface Push {
  /** Where letters to this process go. */
  readonly address: string
  /** Null once it listens, or has tried to. */
  readonly beginning: Promise<void> | null
  begin(deliver: (notice: StoreNotice) => void, heard: (on: boolean) => void): void
  /** Told of each claim that holds its key for so long, or for zero no longer. */
  held?(id: string, ttlMs: number): void
  close(): Promise<void>
}

export interface ServerParts {
  readonly traits: Traits
  readonly database: Database
  readonly push: Push
  readonly runtime: Runtime
  readonly patience: Patience
  close(): Promise<void>
}

/** The model over rows of a database server, each step a statement or two. */
export class ServerStore implements Store {
  readonly traits: Traits
  readonly admin: Admin
  readonly records: Records
  readonly transactions: Transactions
  private readonly parts: ServerParts
  private readonly locker: Locker
  private readonly cleaner: Cleaner
  private readonly waiting = new Waiting((waiter) => this.poller.expect(waiter))
  private readonly poller: Poller
  /** Whether the tables were missing when this store looked for them, and it made them. */
  madeTables = false
  private prepared: Promise<void> | null = null
  private listening = false

  constructor(parts: ServerParts) {
    const { traits, database, push, runtime } = parts
    this.parts = parts
    this.traits = traits
    this.poller = new Poller(database.keys, this.waiting, runtime)
    this.cleaner = new Cleaner(database, (key) => this.evict(key, NOBODY, false))
    this.locker = new Locker(
      database,
      runtime,
      () => push.address,
      (letter) => this.deliver(letter),
    )
    const ready = () => this.prepare()
    const evict: ServerAdmin['evict'] = (key, token, ask) => this.evict(key, token, ask)
    this.admin = new ServerAdmin(database.keys, ready, evict, new Inspection(database, runtime, ready, evict))
    this.transactions = new JointTransactions(database, ready, evict)
    this.records = new ServerRecords(database, runtime, (keys) => {
      this.cleaner.count(keys)
      return this.prepare()
    })
  }

  async attempt(claims: readonly Claim[]): Promise<readonly ClaimReply[]> {
    if (this.prepared !== SETTLED) await this.prepare()
    this.cleaner.count(claims.length)
    const tasks = claimTasks(claims, this.parts.push.address)
    this.locker.add(tasks)
    const answers = await repliesTo(tasks)
    const nowMs = this.parts.runtime.nowMs()
    for (const [index, claim] of claims.entries()) {
      const answer = answers[index] as ClaimReply
      if (answer.kind === 'unknown') continue
      this.locker.note(claim, answer)
      this.waiting.note(claim, answer, nowMs)
      if (answer.kind === 'granted') this.parts.push.held?.(claim.id, claim.ttlMs)
    }
    // The first answers are held back until somebody listens: holders and waiters rely on it.
    const beginning = this.parts.push.beginning
    if (beginning !== null) await beginning
    return answers
  }

  async renew(claims: readonly Claim[]): Promise<readonly RenewReply[]> {
    if (this.prepared !== SETTLED) await this.prepare()
    const known = await this.renewWaiting(claims.filter(({ id }) => this.waiting.waiters.has(id)))
    const tasks = claims.filter(({ id }) => !known.has(id)).map(renewTask)
    this.locker.add(tasks)
    const others = (await repliesTo(tasks))[Symbol.iterator]()
    const answers = claims.map(({ id }) => known.get(id) ?? (others.next().value as RenewReply))
    for (const [place, { kind }] of answers.entries()) {
      const { id, ttlMs } = claims[place] as Claim
      if (kind !== 'unknown') this.parts.push.held?.(id, kind === 'renewed' ? ttlMs : 0)
    }
    return answers
  }

  /** Nobody is held up by a claim that keeps its position: its own row is written, and no other. */
  private async renewWaiting(claims: readonly Claim[]): Promise<ReadonlyMap<string, RenewReply>> {
    const known = new Map<string, RenewReply>()
    for (let first = 0; first < claims.length; first += CLAIMS_PER_LOOK) {
      const some = claims.slice(first, first + CLAIMS_PER_LOOK)
      try {
        const { places, heads, clock } = await this.parts.database.keys.renewWaiting(some)
        for (const { key, id } of some) {
          const place = places.get(placeName(key, id))
          if (place?.kind !== 'waiting' || place.expiresAtMs <= clock.nowMs) continue
          const position = positionOfTicket(place.ticket, heads.get(key) ?? [])
          known.set(id, { kind: 'waiting', position, storeTimeMs: clock.nowMs })
          if (this.waiting.waiters.has(id)) this.waiting.place(id, key, position, this.parts.runtime.nowMs())
        }
      } catch (error) {
        if (this.parts.database.reasonOf(error) !== null) continue
        for (const { id } of some) known.set(id, { kind: 'unknown', error: error as Error })
      }
    }
    return known
  }

  async release(claims: readonly Claim[]): Promise<readonly ReleaseReply[]> {
    if (this.prepared !== SETTLED) await this.prepare()
    for (const { id } of claims) {
      this.waiting.forget(id)
      this.parts.push.held?.(id, 0)
    }
    const tasks = claims.map(releaseTask)
    this.locker.add(tasks)
    return repliesTo(tasks)
  }

  setCallTimeout(timeoutMs: number): void {
    this.parts.patience.allow(timeoutMs)
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    if (!this.listening) this.listen()
    return this.waiting.listen(listener)
  }

  async close(): Promise<void> {
    this.waiting.clear()
    this.poller.close()
    await this.parts.push.close()
    await this.cleaner.close()
    await this.parts.close()
  }

  private listen(): void {
    this.listening = true
    const { push } = this.parts
    this.poller.switch(true)
    push.begin(
      (notice) => this.waiting.tell(notice),
      (heard) => {
        this.poller.switch(!heard)
        if (heard) this.waiting.tellAll()
      },
    )
  }

  private async evict(key: string, token: bigint | null, ask: boolean) {
    await this.prepare()
    const lock = evictTask(key, token, ask)
    this.locker.add([lock])
    const [answer] = await lock.task.promise
    return answer as NonNullable<typeof answer>
  }

  private deliver({ key, notice }: KeyNotification): void {
    this.parts.runtime.defer(() => this.waiting.tell({ ...notice, key }))
  }

  /** Changes tables of format 1. Resolves to whether there were any. */
  upgrade(): Promise<boolean> {
    return this.parts.database.upgrade()
  }

  /** The tables are looked for once; if that fails, the next call tries again. */
  prepare(): Promise<void> {
    this.prepared ??= this.parts.database.prepare().then(
      (made) => {
        this.madeTables = made
        this.prepared = SETTLED
      },
      (error) => {
        this.prepared = null
        throw error
      },
    )
    return this.prepared
  }
}

const SETTLED = Promise.resolve()

/** One reply for each claim of each task; a task that fails spoils none of the others. */
async function repliesTo<A>(
  tasks: readonly {
    readonly claims: readonly Claim[]
    readonly task: { readonly promise: Promise<readonly A[]> }
  }[],
): Promise<readonly (A | Unknown)[]> {
  const settled = await Promise.allSettled(tasks.map(({ task }) => task.promise))
  return settled.flatMap((outcome, place): readonly (A | Unknown)[] => {
    if (outcome.status === 'fulfilled') return outcome.value
    const unknown: Unknown = { kind: 'unknown', error: outcome.reason as Error }
    return tasks[place]!.claims.map(() => unknown)
  })
}
