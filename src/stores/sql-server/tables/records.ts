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
import { Rounds } from './rounds.ts'
import { foundOf } from './rows.ts'
import { Swap } from './swap.ts'
import { type Database, type Found, placeName, type RecordRow } from './tables.ts'
import { type Playable, type Played, type Shelf, Task } from './task.ts'

type Held = RecordCondition & { kind: 'held' }
type Decision<A> = { readonly next: Found | null; readonly answer: A }

const MOST_TRIES = 100

/** Records as rows that are compared and swapped; what waits for one record in this process is done in one go. */
export class ServerRecords implements Records {
  private readonly database: Database
  /** Called before every call, with the number of its keys. */
  private readonly ready: (keys: number) => Promise<void>
  private readonly swap: Swap<RecordRow, Found>
  private readonly rounds = new Rounds<Playable<Found>>((tasks) => [this.swap.run(tasks).then(() => tasks)])

  constructor(database: Database, runtime: Runtime, ready: (keys: number) => Promise<void>) {
    this.database = database
    this.ready = ready
    const found = (_: string, row: RecordRow | undefined, { nowMs }: Clock) => foundOf(row, nowMs)
    this.swap = new Swap(database.records, found, database.reasonOf, runtime)
  }

  async read(key: string): Promise<RecordState | null> {
    await this.ready(1)
    const { clock, rows } = await this.database.records.look([key])
    return foundOf(rows.get(key), clock.nowMs).record
  }

  async readAll(keys: readonly string[]): Promise<readonly (RecordState | null)[]> {
    await this.ready(keys.length)
    const { clock, rows } = await this.database.records.look(keys)
    return keys.map((key) => foundOf(rows.get(key), clock.nowMs).record)
  }

  write(key: string, value: string, ttlMs: number | null, condition: RecordCondition): Promise<WriteAnswer> {
    return this.conditional(key, condition, writing(value, ttlMs, condition))
  }

  async writeAll(writes: readonly RecordWrite[]): Promise<readonly WriteAnswer[]> {
    await this.ready(writes.length)
    const tasks = writes.map(({ key, value, ttlMs, condition }) => {
      const decide = writing(value, ttlMs, condition)
      return taskOf(key, (found, clock) => decide(found, clock, false))
    })
    this.rounds.add(tasks)
    return Promise.all(tasks.map(({ promise }) => promise))
  }

  remove(key: string, condition: RecordCondition): Promise<boolean> {
    const decide = ({ record, version }: Found, _: Clock, held: boolean): Decision<boolean> => {
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
    decide: (found: Found, clock: Clock, held: boolean) => Decision<A>,
  ): Promise<A> {
    if (condition.kind === 'held') return this.whileHeld(key, condition, decide)
    return this.change(key, (found, clock) => decide(found, clock, false))
  }

  private async change<A>(key: string, decide: (found: Found, clock: Clock) => Decision<A>): Promise<A> {
    await this.ready(1)
    const task = taskOf(key, decide)
    this.rounds.add([task])
    return task.promise
  }

  /** The claim must hold its key when the record is written, so that is looked at in the same statement. */
  private async whileHeld<A>(
    key: string,
    condition: Held,
    decide: (found: Found, clock: Clock, held: boolean) => Decision<A>,
  ): Promise<A> {
    await this.ready(1)
    const { records, keys, reasonOf } = this.database
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const [{ clock, rows }, { places }] = await Promise.all([records.look([key]), keys.find([condition])])
      const place = places.get(placeName(condition.key, condition.id))
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

function taskOf<A>(key: string, decide: (found: Found, clock: Clock) => Decision<A>): Task<Found, A> {
  return new Task([key], (shelf: Shelf<Found>, clock: Clock): Played<A> => {
    const { next, answer } = decide(shelf.get(key), clock)
    if (next !== null) shelf.put(key, next)
    return { answer, letters: [] }
  })
}

function writing(value: string, ttlMs: number | null, condition: RecordCondition) {
  return ({ record, version }: Found, clock: Clock, held: boolean): Decision<WriteAnswer> => {
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
