import type { Records } from '../../core/store.ts'
import { StoreError } from '../../errors.ts'
import {
  alive,
  type Clock,
  conditionHolds,
  type RecordCondition,
  type RecordState,
  type TakeAnswer,
  takeFromRecord,
  type WriteAnswer,
} from '../../model/index.ts'
import type { Desk } from './desk.ts'
import { nodeDataOf, requireKnown } from './format.ts'
import { type Found, type Next, Shelf } from './shelf.ts'
import { Sweeper } from './sweeper.ts'
import type { ZooKeeperClient } from './wire/client.ts'
import type { Step } from './wire/operations.ts'

/** Somebody else's write comes between ours and what it was based on that often, and no oftener. */
const ROUNDS = 100

/** What to do with a record: its next state, or nothing to be done; `answer` is given once that is so. */
interface Decision<A> {
  readonly next: Next | undefined
  readonly guards?: readonly Step[]
  readonly answer: (version: number) => A
}

export class ZooKeeperRecords implements Records {
  private readonly desk: Desk
  private readonly shelf: Shelf
  private readonly sweeper: Sweeper
  /** The last change of a record that this process makes: one after the other they do not get in each other's way. */
  private readonly turns = new Map<string, Promise<unknown>>()

  constructor(desk: Desk) {
    this.desk = desk
    this.shelf = new Shelf(desk)
    this.sweeper = new Sweeper(desk, this.shelf)
  }

  async read(key: string): Promise<RecordState | null> {
    const { client } = await this.desk.sessions.any()
    const found = await this.shelf.find(client, key)
    return this.living(client, found)
  }

  write(key: string, value: string, ttlMs: number | null, condition: RecordCondition): Promise<WriteAnswer> {
    if (ttlMs !== null) this.sweeper.consider(key, ttlMs)
    return this.change(key, async (client, current): Promise<Decision<WriteAnswer>> => {
      const guards = await this.guardsOf(client, condition)
      if (!conditionHolds(current, condition, () => guards !== null)) {
        return { next: undefined, answer: () => ({ kind: 'refused', current }) }
      }
      const answer = (version: number): WriteAnswer => ({ kind: 'written', version })
      return { next: { value, ttlMs }, guards: guards ?? [], answer }
    })
  }

  remove(key: string, condition: RecordCondition): Promise<boolean> {
    return this.change(key, async (client, current): Promise<Decision<boolean>> => {
      const guards = await this.guardsOf(client, condition)
      if (current === null || !conditionHolds(current, condition, () => guards !== null)) {
        return { next: undefined, answer: () => false }
      }
      return { next: null, guards: guards ?? [], answer: () => true }
    })
  }

  take(key: string, count: number): Promise<TakeAnswer> {
    return this.change(key, async (_client, current): Promise<Decision<TakeAnswer>> => {
      const { next, answer } = takeFromRecord(current, count, this.clock())
      if (answer.kind !== 'taken') return { next: undefined, answer: () => answer }
      return { next, answer: (version) => ({ ...answer, version }) }
    })
  }

  /** Reads, decides and writes over what was read, until nobody came between. */
  private change<A>(
    key: string,
    decide: (client: ZooKeeperClient, current: RecordState | null) => Promise<Decision<A>>,
  ): Promise<A> {
    const before = this.turns.get(key)
    const work = () => this.changeNow(key, decide)
    const changed = before === undefined ? work() : before.then(work)
    const settled: Promise<unknown> = changed
      .catch(() => {})
      .then(() => {
        if (this.turns.get(key) === settled) this.turns.delete(key)
      })
    this.turns.set(key, settled)
    return changed
  }

  private async changeNow<A>(
    key: string,
    decide: (client: ZooKeeperClient, current: RecordState | null) => Promise<Decision<A>>,
  ): Promise<A> {
    for (let round = 0; round < ROUNDS; round++) {
      const { client } = await this.desk.sessions.any()
      const found = await this.shelf.find(client, key)
      const { next, guards = [], answer } = await decide(client, await this.living(client, found))
      if (next === undefined) return answer(0)
      const replaced = await this.shelf.replace(client, key, found, next, guards)
      if (replaced !== null) return answer(replaced.version)
    }
    throw new StoreError('the record is written by too many at once')
  }

  private async living(client: ZooKeeperClient, found: Found | null): Promise<RecordState | null> {
    if (found === null || found.record.expiresAtMs === null) return found?.record ?? null
    await this.learnTime(client)
    return alive(found.record, this.desk.clock.nowMs())
  }

  /** For `held`: the claim's node must be there in the same transaction. Null when the claim holds nothing. */
  private async guardsOf(
    client: ZooKeeperClient,
    condition: RecordCondition,
  ): Promise<readonly Step[] | null> {
    if (condition.kind !== 'held') return []
    const entry = this.desk.find(condition)
    if (entry !== undefined) {
      const { node, holds, deadlineMs } = entry
      const isHeld = holds && node !== null && this.desk.runtime.nowMs() < deadlineMs
      return isHeld ? [{ kind: 'check', path: node.path }] : null
    }
    const keyPath = this.desk.paths.lock(condition.key)
    const queue = await this.desk.queueAt(client, keyPath)
    if (queue !== null) requireKnown(queue)
    const found = queue?.findId(condition.id)
    if (queue === null || found === undefined || !queue.holds(found.place)) return null
    const path = `${keyPath}/${found.node.name}`
    const { data, stat } = await client.getData(path)
    if (nodeDataOf(data).closedMs !== undefined) return null
    return [{ kind: 'check', path, version: stat.version }]
  }

  private async learnTime(client: ZooKeeperClient): Promise<void> {
    if (!this.desk.clock.isStale) return
    const { mtimeMs } = await client.setData(this.desk.paths.locks, Buffer.alloc(0))
    this.desk.clock.learn(mtimeMs)
  }

  /** Versions are the ensemble's, so that the stamps of the model do not count. */
  private clock(): Clock {
    return { nowMs: Math.floor(this.desk.clock.nowMs()), stampUs: 0 }
  }
}
