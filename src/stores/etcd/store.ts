import type { Runtime } from '../../core/runtime.ts'
import type { Admin, Records, Store, StoreNotice, Traits } from '../../core/store.ts'
import type { Claim, ClaimAnswer, ReleaseAnswer, RenewAnswer } from '../../model/index.ts'
import { EtcdAdmin } from './admin.ts'
import { Arrivals } from './arrivals.ts'
import { Attempts } from './attempts.ts'
import { Book } from './book.ts'
import { Changing } from './changing.ts'
import { EtcdClient } from './client/client.ts'
import type { ClusterOptions } from './client/cluster.ts'
import type { Desk } from './desk.ts'
import { Ending } from './ending.ts'
import { Groups } from './groups.ts'
import { Inbox, noticeOf } from './inbox.ts'
import { Leases } from './leases.ts'
import { LOCKS } from './names.ts'
import { EtcdRecords } from './records.ts'
import { release } from './releases.ts'
import { Renewals } from './renewals.ts'
import type { LetterValue } from './value.ts'
import { Waiting } from './waiting.ts'

const TRAITS: Traits = {
  name: 'etcd',
  modes: ['exclusive', 'shared', 'permits'],
  order: 'fifo',
  fencing: 'until data loss',
  ttlStepMs: 1000,
  adoption: true,
  owners: true,
  lockDelay: true,
  groups: true,
  records: true,
  wakeUp: 'push',
  immediate: false,
  scope: 'every process that reaches the same etcd cluster',
  failover:
    'holds survive the loss of a minority of the members, and a change of the leader can only prolong them; without a majority nothing is granted or renewed, and holds end by their own deadline; clocks may jump',
}

/** Locks by the native recipe: a key per claim, ordered by its creation, bound to a lease. */
export class EtcdStore implements Store {
  readonly traits = TRAITS
  readonly admin: Admin
  readonly records: Records
  readonly client: EtcdClient
  private readonly desk: Desk
  private readonly attempts: Attempts
  private readonly groups: Groups
  private readonly renewals: Renewals
  private readonly ending: Ending
  private readonly listeners = new Set<(notice: StoreNotice) => void>()

  constructor(options: ClusterOptions, runtime: Runtime) {
    this.client = new EtcdClient(options, runtime)
    const desk: Desk = {
      client: this.client,
      runtime,
      leases: new Leases(this.client, runtime),
      book: new Book(runtime),
      inbox: new Inbox(this.client, runtime, (letter) => this.receive(letter)),
      tell: (notice) => this.tell(notice),
    }
    const waiting = new Waiting(desk)
    this.desk = desk
    const arrivals = new Arrivals(desk, waiting, new Changing(desk))
    this.attempts = new Attempts(desk, waiting, arrivals)
    this.groups = new Groups(desk)
    this.renewals = new Renewals(desk, waiting, (claim) => arrivals.find(claim))
    this.ending = new Ending(desk, waiting)
    this.admin = new EtcdAdmin(desk)
    this.records = new EtcdRecords(desk)
    desk.book.keptBy(this.ending)
  }

  /** Rejects unless a majority answers. */
  async probe(): Promise<void> {
    await this.client.range({ key: LOCKS.key, countOnly: true })
  }

  async attempt(claims: readonly Claim[]): Promise<readonly ClaimAnswer[]> {
    if (claims.every(({ group }) => group === null)) return this.attempts.attempt(claims)
    const alone = claims.filter(({ group }) => group === null)
    const groups = new Map<string, Claim[]>()
    for (const claim of claims) {
      if (claim.group === null) continue
      const together = groups.get(claim.group)
      if (together === undefined) groups.set(claim.group, [claim])
      else together.push(claim)
    }
    const answers = new Map<Claim, ClaimAnswer>()
    const note = async (some: readonly Claim[], asked: Promise<readonly ClaimAnswer[]>): Promise<void> => {
      for (const [index, answer] of (await asked).entries()) answers.set(some[index] as Claim, answer)
    }
    const parts = [...groups.values()].map((group) => note(group, this.groups.attempt(group)))
    await Promise.all([note(alone, this.attempts.attempt(alone)), ...parts])
    return claims.map((claim) => answers.get(claim) as ClaimAnswer)
  }

  renew(claims: readonly Claim[]): Promise<readonly RenewAnswer[]> {
    return this.renewals.renew(claims)
  }

  async release(claims: readonly Claim[]): Promise<readonly ReleaseAnswer[]> {
    return claims.length === 0 ? [] : release(this.desk, claims)
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  async close(): Promise<void> {
    const { book, leases } = this.desk
    this.listeners.clear()
    book.close()
    this.ending.close()
    await leases.close(this.ending.delaying)
    this.client.close()
  }

  private receive(letter: LetterValue): void {
    const { book } = this.desk
    const known = book.get(letter)
    if (known !== undefined && (letter.kind === 'evicted' || letter.kind === 'adopted')) book.drop(known)
    this.tell(noticeOf(letter))
  }

  private tell(notice: StoreNotice): void {
    for (const listener of this.listeners) listener(notice)
  }
}
