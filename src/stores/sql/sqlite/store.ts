import type { Runtime } from '../../../core/runtime.ts'
import type { Admin, Records, Soon, Store, StoreNotice, Traits } from '../../../core/store.ts'
import {
  type Batch,
  type Claim,
  type ClaimAnswer,
  type Clock,
  claimBatch,
  type EvictAnswer,
  type ReleaseAnswer,
  type RenewAnswer,
  releaseOf,
  renewOf,
  type Shelf,
  SPARE_TOKENS,
  stepBatch,
  tokenOf,
} from '../../../model/index.ts'
import { RowShelf } from '../shelf.ts'
import { SqliteAdmin } from './admin.ts'
import type { BootClock } from './boot.ts'
import type { Connection } from './connection.ts'
import { Crowd } from './crowd.ts'
import { Desk } from './desk.ts'
import { withoutDead } from './graveyard.ts'
import { pidNamespace } from './inbox.ts'
import { KeyTable } from './keys.ts'
import { Post } from './post.ts'
import { SqliteRecords } from './records.ts'
import { RULES } from './rules.ts'

const TRAITS: Traits = {
  name: 'sqlite',
  modes: ['exclusive', 'shared', 'permits'],
  order: 'fifo',
  fencing: 'until data loss',
  ttlStepMs: 1,
  adoption: true,
  owners: true,
  lockDelay: true,
  groups: true,
  records: true,
  wakeUp: 'push',
  immediate: true,
  scope: 'every process of one machine that opens the same file',
  failover:
    'a restart of the machine ends all holds, a jump of the wall clock none; a power cut may take back the last commits, and then tokens rise as long as the wall clock did not go back',
}

const RELEASED: readonly ReleaseAnswer[] = [{ kind: 'released' }]

/** The model over rows: one immediate transaction for each call, or one statement where that says the same. */
export class SqliteStore implements Store {
  readonly traits = TRAITS
  readonly admin: Admin
  readonly records: Records
  private readonly desk: Desk
  private readonly post: Post
  private readonly keys: KeyTable
  private readonly crowd = new Crowd()
  private readonly namespace = pidNamespace()
  private open = true

  constructor(connection: Connection, clock: BootClock, runtime: Runtime) {
    this.desk = new Desk(connection, clock, runtime)
    this.post = new Post(connection.file, runtime)
    this.keys = new KeyTable(connection, clock)
    this.admin = new SqliteAdmin(this.keys, this.desk, runtime, (key, token, ask) =>
      this.evict(key, token, ask),
    )
    this.records = new SqliteRecords(connection, clock, this.keys, this.desk)
  }

  attempt(claims: readonly Claim[]): Soon<readonly ClaimAnswer[]> {
    return this.desk.run((clock) => {
      this.post.keep()
      const inbox = this.post.address
      const only = claims.length === 1 ? (claims[0] as Claim) : null
      const seq = only === null || this.crowd.has(only.key) ? null : this.keys.tryClaim(only, inbox, clock)
      if (only !== null && seq !== null) {
        const spare = only.owner === null ? SPARE_TOKENS : 0
        return [{ kind: 'granted', token: tokenOf(seq), spare, contended: false }]
      }
      const answers = this.batch((shelf, now) => claimBatch(shelf, claims, inbox, now, RULES))
      if (only !== null) this.crowd.note(only.key, answers[0] as ClaimAnswer)
      return answers
    })
  }

  renew(claims: readonly Claim[]): Soon<readonly RenewAnswer[]> {
    return this.desk.run(() => this.batch((shelf, now) => stepBatch(shelf, claims, renewOf, now, RULES)))
  }

  release(claims: readonly Claim[]): Soon<readonly ReleaseAnswer[]> {
    return this.desk.run(({ nowMs }) => {
      const only = claims.length === 1 ? (claims[0] as Claim) : null
      if (only !== null && !this.crowd.has(only.key) && this.keys.tryRelease(only.key, only.id, nowMs))
        return RELEASED
      return this.batch((shelf, now) => stepBatch(shelf, claims, releaseOf, now, RULES))
    })
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    return this.post.listen(listener)
  }

  close(): void {
    if (!this.open) return
    this.open = false
    this.post.close()
    this.desk.close()
  }

  private evict(key: string, token: bigint | null, ask: boolean): Soon<EvictAnswer> {
    const event = { kind: ask ? 'revoke' : 'evict', token } as const
    return this.desk.run(() => {
      const [answer] = this.batch((shelf, now) =>
        stepBatch(shelf, [{ key, id: '', ttlMs: 0 }], () => event, now, RULES),
      )
      return answer as EvictAnswer
    })
  }

  private batch<A>(work: (shelf: Shelf, clock: Clock) => Batch<A>): readonly A[] {
    const { answers, letters } = this.desk.transaction((clock) => {
      const shelf = new RowShelf((key) => withoutDead(this.keys.load(key, clock.nowMs), this.namespace))
      const batch = work(shelf, clock)
      for (const [key, state] of shelf.changed) this.keys.save(key, state, clock.nowMs)
      return batch
    })
    // Only what is committed may be told.
    this.post.send(letters)
    return answers
  }
}
