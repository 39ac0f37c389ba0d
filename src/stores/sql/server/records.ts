import type { Runtime } from '../../../core/runtime.ts'
import type { Records } from '../../../core/store.ts'
import { StoreError } from '../../../errors.ts'
import {
  type Clock,
  conditionHolds,
  type Deal,
  type DealAnswer,
  type RecordCondition,
  type RecordState,
  step,
  type TakeAnswer,
  take,
  trade,
  type WriteAnswer,
  written,
} from '../../../model/index.ts'
import { Rounds } from './rounds.ts'
import { foundOf, stateOf } from './rows.ts'
import { RULES } from './rules.ts'
import { Swap } from './swap.ts'
import type { Database, Found, Proof, RecordRow } from './tables.ts'
import { type Playable, type Played, type Shelf, Task } from './task.ts'

type Held = RecordCondition & { kind: 'held' }
type Decision<A> = { readonly next: Found | null; readonly answer: A }

const MOST_TRIES = 100

/** Records as rows that are compared and swapped; what waits for one record in this process is done in one go. */
export class ServerRecords implements Records {
  private readonly database: Database
  private readonly ready: () => Promise<void>
  private readonly swap: Swap<RecordRow, Found>
  private readonly rounds = new Rounds<Playable<Found>>((tasks) => [this.swap.run(tasks).then(() => tasks)])

  constructor(database: Database, runtime: Runtime, ready: () => Promise<void>) {
    this.database = database
    this.ready = ready
    const found = (_: string, row: RecordRow | undefined, { nowMs }: Clock) => foundOf(row, nowMs)
    this.swap = new Swap(database.records, found, database.reasonOf, runtime)
  }

  async read(key: string): Promise<RecordState | null> {
    await this.ready()
    const { clock, rows } = await this.database.records.look([key])
    return foundOf(rows.get(key), clock.nowMs).record
  }

  write(key: string, value: string, ttlMs: number | null, condition: RecordCondition): Promise<WriteAnswer> {
    const decide = ({ record, version }: Found, clock: Clock, held: boolean): Decision<WriteAnswer> => {
      if (!conditionHolds(record, condition, () => held)) {
        return { next: null, answer: { kind: 'refused', current: record } }
      }
      const next = written(version, value, ttlMs, clock)
      const answer: WriteAnswer = { kind: 'written', version: next.version }
      return { next: { record: next, version: next.version }, answer }
    }
    return this.conditional(key, condition, decide)
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
      const { next, answer } = take(record, count, clock)
      if (next === null || answer.kind !== 'taken') return { next: null, answer }
      return { next: { record: next, version: Math.max(version, next.version) }, answer }
    })
  }

  trade(key: string, deal: Deal): Promise<DealAnswer> {
    return this.change(key, ({ record, version }, clock) => {
      const { next, answer } = trade(record, deal, version, clock, clock.nowMs)
      if (next === null || next === record) return { next: null, answer }
      return { next: { record: next, version: next.version }, answer }
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
    await this.ready()
    const task = new Task([key], (shelf: Shelf<Found>, clock: Clock): Played<A> => {
      const { next, answer } = decide(shelf.get(key), clock)
      if (next !== null) shelf.put(key, next)
      return { answer, letters: [] }
    })
    this.rounds.add([task])
    return task.promise
  }

  /** The row of the lock must be the one that was read, so it is compared in the same statement. */
  private async whileHeld<A>(
    key: string,
    condition: Held,
    decide: (found: Found, clock: Clock, held: boolean) => Decision<A>,
  ): Promise<A> {
    await this.ready()
    const { records, keys, reasonOf } = this.database
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const [{ clock, rows }, locks] = await Promise.all([records.look([key]), keys.look([condition.key])])
      const proof = proofOf(condition, locks.rows, locks.clock)
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

/** Null when the claim does not hold its key. */
function proofOf(
  { key, id }: Held,
  rows: Awaited<ReturnType<Database['keys']['look']>>['rows'],
  clock: Clock,
): Proof | null {
  const row = rows.get(key)
  if (row === undefined) return null
  const { state } = step(stateOf(key, row), { kind: 'tick' }, clock, RULES)
  const member = state.holds.flatMap((hold) => hold.members).find((held) => held.id === id)
  return member === undefined ? null : { key, revision: row.revision, untilMs: member.expiresAtMs }
}
