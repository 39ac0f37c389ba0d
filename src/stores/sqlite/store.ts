import type { Runtime } from '../../core/runtime.ts'
import type {
  Admin,
  ClaimReply,
  Records,
  ReleaseReply,
  RenewReply,
  Soon,
  Store,
  StoreNotice,
  Traits,
} from '../../core/store.ts'
import type { BatchOutcome, Claim, EvictAnswer } from '../../model/index.ts'
import { FULL_TRAITS } from '../shared/sql.ts'

import { SqliteAdmin } from './admin.ts'
import type { BootClock } from './boot.ts'
import type { SqliteConnection } from './connection.ts'

import { SqliteKeys } from './keys.ts'
import { NotificationChannel } from './notification-channel.ts'
import { SqliteRecords } from './records.ts'
import { Steps } from './steps.ts'
import { TransactionRunner } from './transaction-runner.ts'

const TRAITS: Traits = {
  ...FULL_TRAITS,
  name: 'sqlite',
  wakeUp: 'push',
  scope: 'every process of one machine that opens the same file',
  failover:
    'a restart of the machine ends all holds, a jump of the wall clock none; a power cut may take back the last commits, and then tokens rise as long as the wall clock did not go back',
}

/** The model over the rows of a file, and notifications to the processes that its steps concern. */
export class SqliteStore implements Store {
  readonly traits = TRAITS
  readonly admin: Admin
  readonly records: Records
  private readonly runner: TransactionRunner
  private readonly notifications: NotificationChannel
  private readonly steps: Steps
  private open = true

  constructor(connection: SqliteConnection, clock: BootClock, runtime: Runtime) {
    this.runner = new TransactionRunner(connection, clock, runtime)
    this.notifications = new NotificationChannel(connection.file, runtime)
    const keys = new SqliteKeys(connection, clock)
    this.steps = new Steps(this.runner, keys)
    const evict: SqliteAdmin['evict'] = (key, token, ask) => this.evict(key, token, ask)
    this.admin = new SqliteAdmin(connection, keys, this.runner, runtime, evict)
    this.records = new SqliteRecords(connection, clock, keys, this.runner)
  }

  attempt(claims: readonly Claim[]): Soon<readonly ClaimReply[]> {
    return this.run(() => {
      this.notifications.touch()
      return this.steps.claim(claims, this.notifications.address)
    }, claims.length)
  }

  renew(claims: readonly Claim[]): Soon<readonly RenewReply[]> {
    return this.run(() => this.steps.renew(claims))
  }

  release(claims: readonly Claim[]): Soon<readonly ReleaseReply[]> {
    return this.run(() => this.steps.release(claims))
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    return this.notifications.listen(listener)
  }

  close(): void {
    if (!this.open) return
    this.open = false
    this.notifications.close()
    this.runner.close()
  }

  private evict(key: string, token: bigint | null, ask: boolean): Soon<EvictAnswer> {
    const event = { kind: ask ? 'revoke' : 'evict', token } as const
    const answers = this.run(() => this.steps.event(key, event))
    return answers instanceof Promise
      ? answers.then(([answer]) => answer as EvictAnswer)
      : (answers[0] as EvictAnswer)
  }

  private run<A>(work: () => BatchOutcome<A>, keys = 1): Soon<readonly A[]> {
    return this.runner.run(() => {
      const { answers, notifications: letters } = work()
      // Only after the commit: a notification of an undone grant would be wrong.
      this.notifications.send(letters)
      return answers
    }, keys)
  }
}
