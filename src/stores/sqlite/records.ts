import type { Records, RecordWrite, Soon } from '../../core/store.ts'
import {
  alive,
  type Clock,
  conditionHolds,
  type RecordCondition,
  type RecordState,
  takeFromRecord,
  type WriteAnswer,
  writtenRecord,
} from '../../model/index.ts'
import { SQL_RULES } from '../shared/sql.ts'

import type { SqliteStatement } from './binding.ts'
import type { BootClock } from './boot.ts'
import type { SqliteConnection } from './connection.ts'
import type { SqliteKeys } from './keys.ts'
import type { TransactionRunner } from './transaction-runner.ts'

interface Row {
  readonly boot: string
  readonly at: number
  readonly version: number
  readonly value: string | null
  readonly expires_at: number | null
  readonly expires_wall: number | null
}

type Write = Omit<RecordWrite, 'condition'> & { readonly condition: RecordCondition }

/** A record, and the highest version that its key ever had, even if the record is gone. */
interface Found {
  readonly record: RecordState | null
  readonly version: number
}

export class SqliteRecords implements Records {
  private readonly clock: BootClock
  private readonly keys: SqliteKeys
  private readonly runner: TransactionRunner
  private readonly select: SqliteStatement
  private readonly upsert: SqliteStatement

  constructor(connection: SqliteConnection, clock: BootClock, keys: SqliteKeys, runner: TransactionRunner) {
    this.clock = clock
    this.keys = keys
    this.runner = runner
    this.select = connection.prepare(
      'SELECT boot, at, version, value, expires_at, expires_wall FROM holdfast_records WHERE key = ?',
    )
    this.upsert = connection.prepare(`
      INSERT INTO holdfast_records (key, boot, at, version, value, expires_at, expires_wall, forget_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET
        boot = excluded.boot, at = excluded.at, version = excluded.version, value = excluded.value,
        expires_at = excluded.expires_at, expires_wall = excluded.expires_wall, forget_at = excluded.forget_at`)
  }

  read(key: string): Soon<RecordState | null> {
    return this.runner.run(({ nowMs }) => this.find(key, nowMs).record)
  }

  write(key: string, value: string, ttlMs: number | null, condition: RecordCondition) {
    return this.runner.transact((clock) => this.writeIn(clock, { key, value, ttlMs, condition }))
  }

  readAll(keys: readonly string[]): Soon<readonly (RecordState | null)[]> {
    return this.runner.run(({ nowMs }) => keys.map((key) => this.find(key, nowMs).record), keys.length)
  }

  writeAll(writes: readonly RecordWrite[]): Soon<readonly WriteAnswer[]> {
    return this.runner.transact((clock) => writes.map((write) => this.writeIn(clock, write)), writes.length)
  }

  remove(key: string, condition: RecordCondition): Soon<boolean> {
    return this.runner.transact((clock) => {
      const { record } = this.find(key, clock.nowMs)
      if (record === null || !this.allows(record, condition, clock)) return false
      const { nowMs } = clock
      const forgetMs = nowMs + SQL_RULES.keepSeqMs
      this.upsert.run(key, this.clock.bootId, nowMs, record.version, null, null, null, forgetMs)
      return true
    })
  }

  take(key: string, count: number) {
    return this.runner.transact((clock) => {
      const { next, answer } = takeFromRecord(this.find(key, clock.nowMs).record, count, clock)
      if (next !== null && answer.kind === 'taken') this.save(key, next, clock.nowMs)
      return answer
    })
  }

  private writeIn(clock: Clock, { key, value, ttlMs, condition }: Write): WriteAnswer {
    const { record, version } = this.find(key, clock.nowMs)
    if (!this.allows(record, condition, clock)) return { kind: 'refused', current: record }
    const next = writtenRecord(version, value, ttlMs, clock)
    this.save(key, next, clock.nowMs)
    return { kind: 'written', version: next.version }
  }

  private allows(record: RecordState | null, condition: RecordCondition, clock: Clock): boolean {
    return conditionHolds(
      record,
      condition,
      () => condition.kind === 'held' && this.keys.isHeld(condition.key, condition.id, clock.nowMs),
    )
  }

  private find(key: string, nowMs: number): Found {
    const row = this.select.get(key) as Row | undefined
    if (row === undefined) return { record: null, version: 0 }
    const { version } = row
    if (row.value === null) return { record: null, version }
    const value = JSON.parse(row.value) as string
    return { record: alive({ value, version, expiresAtMs: this.expiryOf(row, nowMs) }, nowMs), version }
  }

  /** A record survives a restart of the machine, after which only the wall clock can tell how much of its ttl is left. */
  private expiryOf({ boot, at, expires_at, expires_wall }: Row, nowMs: number): number | null {
    if (expires_at === null || expires_wall === null) return null
    return this.clock.isForeign(boot, at, nowMs) ? nowMs + expires_wall - this.clock.wallMs() : expires_at
  }

  private save(key: string, { value, version, expiresAtMs }: RecordState, nowMs: number): void {
    const wallMs = expiresAtMs === null ? null : this.clock.wallMs() + expiresAtMs - nowMs
    // As JSON, because the bindings cut text at U+0000 and replace lone surrogates.
    const text = JSON.stringify(value)
    // At its end clean-up drops the value and keeps the version for a day.
    this.upsert.run(key, this.clock.bootId, nowMs, version, text, expiresAtMs, wallMs, expiresAtMs)
  }
}
