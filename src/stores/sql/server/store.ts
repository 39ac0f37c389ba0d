import type { Runtime } from '../../../core/runtime.ts'
import type {
  Admin,
  Records,
  RenewReply,
  Store,
  StoreNotice,
  Traits,
  Transactions,
} from '../../../core/store.ts'
import type { Claim, ClaimAnswer, KeyLetter, ReleaseAnswer } from '../../../model/index.ts'
import { ServerAdmin } from './admin.ts'
import { Cleaner } from './cleaner.ts'
import { Inspection } from './inspection.ts'
import { JointTransactions } from './joint.ts'
import { Locker } from './locker.ts'
import { Poller } from './poller.ts'
import { ServerRecords } from './records.ts'
import type { Database } from './tables.ts'
import { claimTasks, evictTask, releaseTask, renewTask } from './tasks.ts'
import { Waiting } from './waiting.ts'

/** How the database tells this process what it must know; a database that cannot is asked instead. */
export interface Push {
  /** Where letters to this process go; null as long as nobody could receive them. */
  readonly address: string | null
  /** Null once it listens, or has tried to. */
  readonly beginning: Promise<void> | null
  begin(deliver: (notice: StoreNotice) => void, heard: (on: boolean) => void): void
  close(): Promise<void>
}

export interface ServerParts {
  readonly traits: Traits
  readonly database: Database
  readonly push: Push | null
  readonly runtime: Runtime
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
  private readonly waiting = new Waiting()
  private readonly poller: Poller
  private prepared: Promise<void> | null = null
  private listening = false

  constructor(parts: ServerParts) {
    const { traits, database, push, runtime } = parts
    this.parts = parts
    this.traits = traits
    this.poller = new Poller(database.keys, this.waiting, runtime)
    this.cleaner = new Cleaner(database)
    this.locker = new Locker(
      database,
      runtime,
      () => push?.address ?? null,
      (letter) => this.deliver(letter),
    )
    const ready = () => this.prepare()
    const evict: ServerAdmin['evict'] = (key, token, ask) => this.evict(key, token, ask)
    this.admin = new ServerAdmin(database.keys, ready, evict, new Inspection(database, runtime, ready, evict))
    this.transactions = new JointTransactions(database, ready)
    this.records = new ServerRecords(database, runtime, () => {
      this.cleaner.count()
      return this.prepare()
    })
  }

  async attempt(claims: readonly Claim[]): Promise<readonly ClaimAnswer[]> {
    if (this.prepared !== SETTLED) await this.prepare()
    this.cleaner.count()
    const tasks = claimTasks(claims, this.parts.push?.address ?? null)
    this.locker.add(tasks)
    const answers = await answersOf(tasks)
    const nowMs = this.parts.runtime.nowMs()
    for (const [index, claim] of claims.entries()) {
      const answer = answers[index] as ClaimAnswer
      this.locker.note(claim, answer)
      this.waiting.note(claim, answer, nowMs)
    }
    this.poller.arm()
    // The first answers are held back until somebody listens: holders and waiters rely on it.
    const beginning = this.parts.push?.beginning ?? null
    if (beginning !== null) await beginning
    return answers
  }

  async renew(claims: readonly Claim[]): Promise<readonly RenewReply[]> {
    if (this.prepared !== SETTLED) await this.prepare()
    const tasks = claims.map(renewTask)
    this.locker.add(tasks)
    const settled = await Promise.allSettled(tasks.map(({ task }) => task.promise))
    return settled.map((reply) =>
      reply.status === 'fulfilled'
        ? (reply.value[0] as RenewReply)
        : { kind: 'unknown', error: reply.reason as Error },
    )
  }

  async release(claims: readonly Claim[]): Promise<readonly ReleaseAnswer[]> {
    if (this.prepared !== SETTLED) await this.prepare()
    for (const { id } of claims) this.waiting.forget(id)
    const tasks = claims.map(releaseTask)
    this.locker.add(tasks)
    return answersOf(tasks)
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    if (!this.listening) this.listen()
    return this.waiting.listen(listener)
  }

  async close(): Promise<void> {
    this.waiting.clear()
    this.poller.close()
    await this.parts.push?.close()
    await this.cleaner.close()
    await this.parts.close()
  }

  private listen(): void {
    this.listening = true
    const { push } = this.parts
    this.poller.switch(true)
    push?.begin(
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

  private deliver({ key, notice }: KeyLetter): void {
    this.parts.runtime.defer(() => this.waiting.tell({ ...notice, key }))
  }

  /** The tables are looked for once; if that fails, the next call tries again. */
  prepare(): Promise<void> {
    this.prepared ??= this.parts.database.prepare().then(
      () => {
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

function answersOf<A>(
  tasks: readonly { readonly task: { readonly promise: Promise<readonly A[]> } }[],
): Promise<readonly A[]> {
  const [first] = tasks
  if (first !== undefined && tasks.length === 1) return first.task.promise
  return Promise.all(tasks.map(({ task }) => task.promise)).then((parts) => parts.flat())
}
