import type { Runtime } from '../../../core/runtime.ts'
import type { Records, RecordWrite } from '../../../core/store.ts'
import { StoreError } from '../../../errors.ts'
import {
  type Clock,
  conditionHolds,
  type RecordCondition,
  type RecordState,
  type TakeAnswer,
  takeFromRecord,
  type WriteAnswer,
  writtenRecord,
} from '../../../model/index.ts'
import { SQL_RULES } from '../../shared/sql.ts'

import { CompareAndSwap } from './compare-and-swap.ts'
import { nameOfClaim, type RecordRow, type ServerDatabase, type VersionedRecord } from './database.ts'
import { KeySerializer } from './key-serializer.ts'
import { PendingStep, type States, type Step, type StepResult } from './step.ts'

type Held = RecordCondition & { kind: 'held' }
type Decision<A> = { readonly next: VersionedRecord | null; readonly answer: A }

const MOST_TRIES = 100

/** Records by compare-and-swap; pending steps of this process on one record are done together. */
export class ServerRecords implements Records {
  private readonly database: ServerDatabase
  /** Called before every call, with the number of its keys. */
  private readonly ready: (keys: number) => Promise<void>
  private readonly swap: CompareAndSwap<RecordRow, VersionedRecord>
  private readonly rounds = new KeySerializer<Step<VersionedRecord>>((steps) => [
    this.swap.run(steps).then(() => steps),
  ])

  constructor(database: ServerDatabase, runtime: Runtime, ready: (keys: number) => Promise<void>) {
    this.database = database
    this.ready = ready
    const found = (_: string, row: RecordRow | undefined, { nowMs }: Clock) => foundOf(row, nowMs)
    this.swap = new CompareAndSwap(database.records, found, database.reasonOf, runtime)
  }

  async read(key: string): Promise<RecordState | null> {
    await this.ready(1)
    const { clock, rows } = await this.database.records.read([key])
    return foundOf(rows.get(key), clock.nowMs).record
  }

  async readAll(keys: readonly string[]): Promise<readonly (RecordState | null)[]> {
    await this.ready(keys.length)
    const { clock, rows } = await this.database.records.read(keys)
    return keys.map((key) => foundOf(rows.get(key), clock.nowMs).record)
  }

  write(key: string, value: string, ttlMs: number | null, condition: RecordCondition): Promise<WriteAnswer> {
    return this.conditional(key, condition, writing(value, ttlMs, condition))
  }

  async writeAll(writes: readonly RecordWrite[]): Promise<readonly WriteAnswer[]> {
    await this.ready(writes.length)
    const steps = writes.map(({ key, value, ttlMs, condition }) => {
      const decide = writing(value, ttlMs, condition)
      return taskOf(key, (found, clock) => decide(found, clock, false))
    })
    this.rounds.add(steps)
    return Promise.all(steps.map(({ promise }) => promise))
  }

  remove(key: string, condition: RecordCondition): Promise<boolean> {
    const decide = ({ record, version }: VersionedRecord, _: Clock, held: boolean): Decision<boolean> => {
      const allowed = record !== null && conditionHolds(record, condition, () => held)
      return allowed ? { next: { record: null, version }, answer: true } : { next: null, answer: false }
    }
    return this.conditional(key, condition, decide)
  }

  take(key: string, count: number): Promise<TakeAnswer> {
    return this.change(key, ({ record, version }, clock) => {
      const { next, answer } = takeFromRecord(record, count, clock)
      if (next === null || answer.kind !== 'taken') return { next: null, answer }
      return { next: { record: next, version: Math.max(version, next.version) }, answer }
    })
  }

  private conditional<A>(
    key: string,
    condition: RecordCondition,
    decide: (found: VersionedRecord, clock: Clock, held: boolean) => Decision<A>,
  ): Promise<A> {
    if (condition.kind === 'held') return this.whileHeld(key, condition, decide)
    return this.change(key, (found, clock) => decide(found, clock, false))
  }

  private async change<A>(
    key: string,
    decide: (found: VersionedRecord, clock: Clock) => Decision<A>,
  ): Promise<A> {
    await this.ready(1)
    const step = taskOf(key, decide)
    this.rounds.add([step])
    return step.promise
  }

  /** The claim must hold its key when the record is written, so the same statement checks it. */
  private async whileHeld<A>(
    key: string,
    condition: Held,
    decide: (found: VersionedRecord, clock: Clock, held: boolean) => Decision<A>,
  ): Promise<A> {
    await this.ready(1)
    const { records, keys, reasonOf } = this.database
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const [{ clock, rows }, { statuses: places }] = await Promise.all([
        records.read([key]),
        keys.find([condition]),
      ])
      const place = places.get(nameOfClaim(condition.key, condition.id))
      const proof = place?.kind === 'held' && place.expiresAtMs > clock.nowMs ? condition : null
      const { next, answer } = decide(foundOf(rows.get(key), clock.nowMs), clock, proof !== null)
      if (next === null || proof === null) return answer
      const change = { key, before: rows.get(key), state: next }
      try {
        if (await records.saveHeld(change, clock, proof)) return answer
      } catch (error) {
        if (reasonOf(error) === null) throw error
      }
    }
    throw new StoreError(
      `the record ${JSON.stringify(key)} was changed by others ${MOST_TRIES} times in a row`,
    )
  }
}

function taskOf<A>(
  key: string,
  decide: (found: VersionedRecord, clock: Clock) => Decision<A>,
): PendingStep<VersionedRecord, A> {
  return new PendingStep([key], (states: States<VersionedRecord>, clock: Clock): StepResult<A> => {
    const { next, answer } = decide(states.get(key), clock)
    if (next !== null) states.put(key, next)
    return { answer, notifications: [] }
  })
}

function writing(value: string, ttlMs: number | null, condition: RecordCondition) {
  return ({ record, version }: VersionedRecord, clock: Clock, held: boolean): Decision<WriteAnswer> => {
    if (!conditionHolds(record, condition, () => held)) {
      return { next: null, answer: { kind: 'refused', current: record } }
    }
    const next = writtenRecord(version, value, ttlMs, clock)
    return {
      next: { record: next, version: next.version },
      answer: { kind: 'written', version: next.version },
    }
  }
}

function foundOf(row: RecordRow | undefined, nowMs: number): VersionedRecord {
  if (row === undefined) return { record: null, version: 0 }
  const { version, value, expiresAtMs } = row
  if (value === null || (expiresAtMs !== null && expiresAtMs <= nowMs)) return { record: null, version }
  return { record: { value: JSON.parse(value), version, expiresAtMs }, version }
}

interface RecordValues extends Omit<RecordRow, 'revision'> {
  readonly forgetAtMs: number | null
}

/** The columns of a record. The value is JSON, because databases refuse U+0000 and lone surrogates in a text. */
export function recordValues({ record, version }: VersionedRecord, { nowMs }: Clock): RecordValues {
  if (record === null)
    return { version, value: null, expiresAtMs: null, forgetAtMs: nowMs + SQL_RULES.keepSeqMs }
  const { value, expiresAtMs } = record
  // Clean-up then drops the value and keeps the version for a day.
  return { version: record.version, value: JSON.stringify(value), expiresAtMs, forgetAtMs: expiresAtMs }
}
