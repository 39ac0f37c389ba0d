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
import { NO_TOKEN } from '../../shared/sql.ts'
import type { StatementTimeout } from '../statement-timeout.ts'
import { ServerAdmin } from './admin.ts'
import { ServerCleaner } from './cleaner.ts'
import { CLAIMS_PER_POLL, nameOfClaim, type ServerDatabase } from './database.ts'

import { positionOfTicket } from './key-snapshot.ts'
import { LocalWaiters } from './local-waiters.ts'
import { LockExecutor } from './lock-executor.ts'
import { claimSteps, evictStep, releaseStep, renewStep } from './lock-steps.ts'
import { Poller } from './poller.ts'
import { ServerRecords } from './records.ts'

import { ServerTransactions } from './transactions.ts'

/** How this process receives notifications: the database pushes them, or the process polls. */
export interface ServerInbox {
  /** The address of notifications to this process. */
  readonly address: string
  /** Null once it listens, or has failed to. */
  readonly starting: Promise<void> | null
  start(deliver: (notice: StoreNotice) => void, pushed: (on: boolean) => void): void
  /** Called for each claim that holds its key for so long; zero ends the hold. */
  held?(id: string, ttlMs: number): void
  close(): Promise<void>
}

export interface ServerParts {
  readonly traits: Traits
  readonly database: ServerDatabase
  readonly inbox: ServerInbox
  readonly runtime: Runtime
  readonly timeout: StatementTimeout
  close(): Promise<void>
}

/** The model over rows of a database server: a step takes a statement or two. */
export class ServerStore implements Store {
  readonly traits: Traits
  readonly admin: Admin
  readonly records: Records
  readonly transactions: Transactions
  private readonly parts: ServerParts
  private readonly executor: LockExecutor
  private readonly cleaner: ServerCleaner
  private readonly waiters = new LocalWaiters((waiter) => this.poller.schedule(waiter))
  private readonly poller: Poller
  /** True if the tables were missing and this store made them. */
  madeTables = false
  private prepared: Promise<void> | null = null
  private listening = false

  constructor(parts: ServerParts) {
    const { traits, database, inbox, runtime } = parts
    this.parts = parts
    this.traits = traits
    this.poller = new Poller(database.keys, this.waiters, runtime)
    this.cleaner = new ServerCleaner(database, (key) => this.evict(key, NO_TOKEN, false))
    this.executor = new LockExecutor(
      database,
      runtime,
      () => inbox.address,
      (notification) => this.deliver(notification),
    )
    const ready = () => this.prepare()
    const evict: ServerAdmin['evict'] = (key, token, ask) => this.evict(key, token, ask)
    this.admin = new ServerAdmin(database, runtime, ready, evict)
    this.transactions = new ServerTransactions(database, ready, evict)
    this.records = new ServerRecords(database, runtime, (keys) => {
      this.cleaner.count(keys)
      return this.prepare()
    })
  }

  async attempt(claims: readonly Claim[]): Promise<readonly ClaimReply[]> {
    if (this.prepared !== SETTLED) await this.prepare()
    this.cleaner.count(claims.length)
    const steps = claimSteps(claims, this.parts.inbox.address)
    this.executor.add(steps)
    const answers = await repliesTo(steps)
    const nowMs = this.parts.runtime.nowMs()
    for (const [index, claim] of claims.entries()) {
      const answer = answers[index] as ClaimReply
      if (answer.kind === 'unknown') continue
      this.executor.note(claim, answer)
      this.waiters.note(claim, answer, nowMs)
      if (answer.kind === 'granted') this.parts.inbox.held?.(claim.id, claim.ttlMs)
    }
    // The first answers wait until the inbox listens: holders and waiters rely on it.
    const { starting } = this.parts.inbox
    if (starting !== null) await starting
    return answers
  }

  async renew(claims: readonly Claim[]): Promise<readonly RenewReply[]> {
    if (this.prepared !== SETTLED) await this.prepare()
    const known = await this.renewWaiting(claims.filter(({ id }) => this.waiters.byId.has(id)))
    const steps = claims.filter(({ id }) => !known.has(id)).map(renewStep)
    this.executor.add(steps)
    const others = (await repliesTo(steps))[Symbol.iterator]()
    const answers = claims.map(({ id }) => known.get(id) ?? (others.next().value as RenewReply))
    for (const [index, { kind }] of answers.entries()) {
      const { id, ttlMs } = claims[index] as Claim
      if (kind !== 'unknown') this.parts.inbox.held?.(id, kind === 'renewed' ? ttlMs : 0)
    }
    return answers
  }

  /** Renewing a queue position blocks nobody: only the claim's own row is written. */
  private async renewWaiting(claims: readonly Claim[]): Promise<ReadonlyMap<string, RenewReply>> {
    const known = new Map<string, RenewReply>()
    for (let first = 0; first < claims.length; first += CLAIMS_PER_POLL) {
      const some = claims.slice(first, first + CLAIMS_PER_POLL)
      try {
        const { statuses, heads, clock } = await this.parts.database.keys.renewWaiting(some)
        for (const { key, id } of some) {
          const status = statuses.get(nameOfClaim(key, id))
          if (status?.kind !== 'waiting' || status.expiresAtMs <= clock.nowMs) continue
          const position = positionOfTicket(status.ticket, heads.get(key) ?? [])
          known.set(id, { kind: 'waiting', position, storeTimeMs: clock.nowMs })
          if (this.waiters.byId.has(id))
            this.waiters.setPosition(id, key, position, this.parts.runtime.nowMs())
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
      this.waiters.forget(id)
      this.parts.inbox.held?.(id, 0)
    }
    const steps = claims.map(releaseStep)
    this.executor.add(steps)
    return repliesTo(steps)
  }

  setCallTimeout(timeoutMs: number): void {
    this.parts.timeout.allow(timeoutMs)
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    if (!this.listening) this.listen()
    return this.waiters.listen(listener)
  }

  async close(): Promise<void> {
    this.waiters.clear()
    this.poller.close()
    await this.parts.inbox.close()
    await this.cleaner.close()
    await this.parts.close()
  }

  private listen(): void {
    this.listening = true
    this.poller.switch(true)
    this.parts.inbox.start(
      (notice) => this.waiters.deliver(notice),
      (pushed) => {
        this.poller.switch(!pushed)
        if (pushed) this.waiters.retryAll()
      },
    )
  }

  private async evict(key: string, token: bigint | null, ask: boolean) {
    await this.prepare()
    const evicted = evictStep(key, token, ask)
    this.executor.add([evicted])
    const [answer] = await evicted.promise
    return answer as NonNullable<typeof answer>
  }

  private deliver({ key, notice }: KeyNotification): void {
    this.parts.runtime.defer(() => this.waiters.deliver({ ...notice, key }))
  }

  /** Upgrades tables of format 1. Resolves to whether there were any. */
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

/** One reply for each claim of each step; a step that fails affects none of the others. */
async function repliesTo<A>(
  steps: readonly { readonly claims: readonly Claim[]; readonly promise: Promise<readonly A[]> }[],
): Promise<readonly (A | Unknown)[]> {
  const settled = await Promise.allSettled(steps.map(({ promise }) => promise))
  return settled.flatMap((outcome, index): readonly (A | Unknown)[] => {
    if (outcome.status === 'fulfilled') return outcome.value
    const unknown: Unknown = { kind: 'unknown', error: outcome.reason as Error }
    return steps[index]!.claims.map(() => unknown)
  })
}
