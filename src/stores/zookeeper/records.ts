import type { Records } from '../../core/store.ts'
import { StoreError } from '../../errors.ts'
import {
  alive,
  conditionHolds,
  type RecordCondition,
  type RecordState,
  type TakeAnswer,
  takeFromRecord,
  type WriteAnswer,
} from '../../model/index.ts'
import { SerialTasks } from '../shared/serial-tasks.ts'
import type { ZooKeeperClient } from './client/client.ts'
import type { MultiOp } from './client/operations.ts'
import { findClaim, type StoreContext } from './context.ts'
import { nodeDataOf, requireKnown } from './format.ts'
import { listQueue } from './read.ts'
import { type FoundRecord, findRecord, type NextRecord, replaceRecord } from './record-nodes.ts'
import { RecordSweeper } from './record-sweeper.ts'

/** The most attempts at a change that other processes interrupt. */
const CHANGES = 100

/** The change of a record, and the answer once it is written. */
interface Decision<A> {
  /** Undefined to leave the record as it is. */
  readonly next: NextRecord | undefined
  readonly guards?: readonly MultiOp[]
  readonly answer: (version: number) => A
}

type Decide<A> = (client: ZooKeeperClient, current: RecordState | null) => Promise<Decision<A>>

/** Records as persistent nodes: the version is the number of the transaction of the last write, so it never repeats. */
export class ZooKeeperRecords implements Records {
  private readonly context: StoreContext
  private readonly sweeper: RecordSweeper
  /** Changes of one record by this process run one by one, because concurrent ones would only conflict. */
  private readonly changes = new SerialTasks()

  constructor(context: StoreContext) {
    this.context = context
    this.sweeper = new RecordSweeper(context)
  }

  async read(key: string): Promise<RecordState | null> {
    const { client } = await this.context.sessions.any()
    return this.living(client, await findRecord(this.context, client, key))
  }

  write(key: string, value: string, ttlMs: number | null, condition: RecordCondition): Promise<WriteAnswer> {
    if (ttlMs !== null) this.sweeper.consider(key, ttlMs)
    return this.change<WriteAnswer>(key, async (client, current) => {
      const guards = await this.guardsOf(client, condition)
      if (!conditionHolds(current, condition, () => guards !== null))
        return { next: undefined, answer: () => ({ kind: 'refused', current }) }
      const answer = (version: number): WriteAnswer => ({ kind: 'written', version })
      return { next: { value, ttlMs }, guards: guards ?? [], answer }
    })
  }

  remove(key: string, condition: RecordCondition): Promise<boolean> {
    return this.change<boolean>(key, async (client, current) => {
      const guards = await this.guardsOf(client, condition)
      if (current === null || !conditionHolds(current, condition, () => guards !== null))
        return { next: undefined, answer: () => false }
      return { next: null, guards: guards ?? [], answer: () => true }
    })
  }

  take(key: string, count: number): Promise<TakeAnswer> {
    return this.change<TakeAnswer>(key, async (_client, current) => {
      // Versions come from ZooKeeper, so the model's stamp is unused.
      const clock = { nowMs: Math.floor(this.context.clock.nowMs()), stampUs: 0 }
      const { next, answer } = takeFromRecord(current, count, clock)
      if (answer.kind !== 'taken') return { next: undefined, answer: () => answer }
      return { next, answer: (version) => ({ ...answer, version }) }
    })
  }

  /** Reads, decides and writes, until no other process writes in between. */
  private change<A>(key: string, decide: Decide<A>): Promise<A> {
    return this.changes.run(key, async () => {
      for (let changes = 0; changes < CHANGES; changes++) {
        const { client } = await this.context.sessions.any()
        const found = await findRecord(this.context, client, key)
        const { next, guards, answer } = await decide(client, await this.living(client, found))
        if (next === undefined) return answer(0)
        const version = await replaceRecord(this.context, client, key, found, next, guards)
        if (version !== null) return answer(version)
      }
      throw new StoreError('the record is written by too many at once')
    })
  }

  private async living(client: ZooKeeperClient, found: FoundRecord | null): Promise<RecordState | null> {
    if (found === null || found.record.expiresAtMs === null) return found?.record ?? null
    const { clock, paths } = this.context
    if (clock.isStale) clock.learn((await client.setData(paths.locks, Buffer.alloc(0))).mtimeMs)
    return alive(found.record, clock.nowMs())
  }

  /** For `held`, checks the claim's node in the same transaction. Null when the claim does not hold. */
  private async guardsOf(
    client: ZooKeeperClient,
    condition: RecordCondition,
  ): Promise<readonly MultiOp[] | null> {
    if (condition.kind !== 'held') return []
    const { context } = this
    const local = findClaim(context, condition)
    if (local !== undefined) {
      const { node, holds, deadlineMs } = local
      const isHeld = holds && node !== null && context.runtime.nowMs() < deadlineMs
      return isHeld ? [{ kind: 'check', path: node.path }] : null
    }
    const keyPath = context.paths.lock(condition.key)
    const queue = await listQueue(client, keyPath)
    if (queue !== null) requireKnown(queue)
    const found = queue?.findId(condition.id)
    if (queue === null || found === undefined || !queue.holds(found.position)) return null
    const path = `${keyPath}/${found.node.name}`
    const { data, stat } = await client.getData(path)
    if (nodeDataOf(data).closedMs !== undefined) return null
    return [{ kind: 'check', path, version: stat.version }]
  }
}
