import type { Runtime } from '../../core/runtime.ts'
import type { Records } from '../../core/store.ts'
import { UnsupportedError } from '../../errors.ts'
import type {
  Deal,
  DealAnswer,
  RecordCondition,
  RecordState,
  TakeAnswer,
  WriteAnswer,
} from '../../model/index.ts'
import { lockName, recordNames } from './names.ts'
import type { Scripting } from './scripting.ts'
import { Stocks } from './stocks.ts'

/** Where a lock is kept, and how the scripts are asked whether a claim holds it. */
export interface LockFormat {
  readonly nameOf: (key: string) => string
  readonly held: 'held' | 'plain'
}

const OWN_FORMAT: LockFormat = { nameOf: lockName, held: 'held' }

export class RedisRecords implements Records {
  private readonly scripting: Scripting
  private readonly stocks: Stocks
  private readonly locks: LockFormat

  constructor(scripting: Scripting, runtime: Runtime, locks: LockFormat = OWN_FORMAT) {
    this.scripting = scripting
    this.stocks = new Stocks(scripting, runtime)
    this.locks = locks
  }

  async read(key: string): Promise<RecordState | null> {
    return recordOf(await this.scripting.run('recordRead', recordNames(key), []))
  }

  async write(
    key: string,
    value: string,
    ttlMs: number | null,
    condition: RecordCondition,
  ): Promise<WriteAnswer> {
    const ttl = ttlMs === null ? '' : String(ttlMs)
    const args = [value, ttl, this.kindOf(condition), detailOf(condition)]
    const answer = await this.scripting.run('recordWrite', this.namesOf(key, condition), args)
    if (answer === null || Array.isArray(answer)) return { kind: 'refused', current: recordOf(answer) }
    return { kind: 'written', version: Number(answer) }
  }

  async remove(key: string, condition: RecordCondition): Promise<boolean> {
    const args = [this.kindOf(condition), detailOf(condition)]
    return Number(await this.scripting.run('recordRemove', this.namesOf(key, condition), args)) === 1
  }

  async take(key: string, count: number): Promise<TakeAnswer> {
    const answer = await this.scripting.run('recordTake', recordNames(key), [String(count)])
    if (!Array.isArray(answer)) return { kind: 'absent' }
    const [left, version, units] = answer as [unknown, unknown, string]
    if (answer.length === 1) return { kind: 'short', left: Number(left) }
    return { kind: 'taken', units: JSON.parse(units), left: Number(left), version: Number(version) }
  }

  inventory(key: string, deal: Deal): Promise<DealAnswer> {
    return this.stocks.trade(key, deal)
  }

  private namesOf(key: string, condition: RecordCondition): string[] {
    const record = recordNames(key)
    if (condition.kind !== 'held') return [...record]
    const lock = this.locks.nameOf(condition.key)
    const { cluster } = this.scripting.client
    if (cluster !== null && cluster.slotOf(record[0]) !== cluster.slotOf(lock))
      throw new UnsupportedError(
        `the record ${JSON.stringify(key)} and the lock ${JSON.stringify(condition.key)} are in different slots of the cluster, where no step can touch both: give them the same key or a common hash tag`,
      )
    return [...record, lock]
  }

  private kindOf({ kind }: RecordCondition): string {
    return kind === 'held' ? this.locks.held : kind
  }
}

function detailOf(condition: RecordCondition): string {
  if (condition.kind === 'version') return String(condition.version)
  return condition.kind === 'held' ? condition.id : ''
}

function recordOf(answer: unknown): RecordState | null {
  if (!Array.isArray(answer)) return null
  const [version, expires, value] = answer as [unknown, unknown, string]
  return {
    value,
    version: Number(version),
    expiresAtMs: Number(expires) === 0 ? null : Number(expires),
  }
}
