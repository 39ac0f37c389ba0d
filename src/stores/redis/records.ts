import type { Records } from '../../core/store.ts'
import type {
  Deal,
  DealAnswer,
  RecordCondition,
  RecordState,
  TakeAnswer,
  WriteAnswer,
} from '../../model/index.ts'
import { lockName, recordName } from './names.ts'
import type { Scripting } from './scripting.ts'
import { trade } from './stocks.ts'

export class RedisRecords implements Records {
  private readonly scripting: Scripting

  constructor(scripting: Scripting) {
    this.scripting = scripting
  }

  async read(key: string): Promise<RecordState | null> {
    return recordOf(await this.scripting.run('recordRead', [recordName(key)], []))
  }

  async write(
    key: string,
    value: string,
    ttlMs: number | null,
    condition: RecordCondition,
  ): Promise<WriteAnswer> {
    const ttl = ttlMs === null ? '' : String(ttlMs)
    const args = [value, ttl, condition.kind, detailOf(condition)]
    const answer = await this.scripting.run('recordWrite', namesOf(key, condition), args)
    if (answer === null || Array.isArray(answer)) return { kind: 'refused', current: recordOf(answer) }
    return { kind: 'written', version: Number(answer) }
  }

  async remove(key: string, condition: RecordCondition): Promise<boolean> {
    const args = [condition.kind, detailOf(condition)]
    return Number(await this.scripting.run('recordRemove', namesOf(key, condition), args)) === 1
  }

  async take(key: string, count: number): Promise<TakeAnswer> {
    const answer = await this.scripting.run('recordTake', [recordName(key)], [String(count)])
    if (!Array.isArray(answer)) return { kind: 'absent' }
    const [left, version, units] = answer as [unknown, unknown, string]
    if (answer.length === 1) return { kind: 'short', left: Number(left) }
    return { kind: 'taken', units: JSON.parse(units), left: Number(left), version: Number(version) }
  }

  trade(key: string, deal: Deal): Promise<DealAnswer> {
    return trade(this.scripting, key, deal)
  }
}

function namesOf(key: string, condition: RecordCondition): string[] {
  return condition.kind === 'held' ? [recordName(key), lockName(condition.key)] : [recordName(key)]
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
