import { StoreError } from '../../errors.ts'
import type { RecordState } from '../../model/index.ts'
import type { Desk } from './context.ts'
import type { ZooKeeperClient } from './client/client.ts'
import { isWire } from './client/errors.ts'
import type { Step } from './client/operations.ts'
import type { Stat } from './client/protocol.ts'

/** How a record is written: its end is a time, or that long after the write, which only the ensemble can stamp. */
interface RecordData {
  readonly value: string
  readonly expiresAtMs?: number
  readonly ttlMs?: number
}

/** What is to be kept: a value with an end, or nothing. */
export type Next =
  | { readonly value: string; readonly expiresAtMs: number | null }
  | { readonly value: string; readonly ttlMs: number | null }
  | null

/**
 * A record as it was found. Its node has one child with a name of its own, because a node that was deleted and made
 * again counts its versions from 0 again: a write over one life must not meet another.
 */
export interface Found {
  readonly record: RecordState
  readonly nodeVersion: number
  readonly life: string
}

const NOTHING = Buffer.alloc(0)

export class Shelf {
  private readonly desk: Desk

  constructor(desk: Desk) {
    this.desk = desk
  }

  /** As the leader knows it now, expired or not. */
  async find(client: ZooKeeperClient, key: string): Promise<Found | null> {
    const path = this.desk.paths.record(key)
    const [, data, children] = await Promise.allSettled([
      client.sync(this.desk.paths.root),
      client.getData(path),
      client.getChildren(path),
    ])
    for (const outcome of [data, children]) {
      if (outcome.status === 'fulfilled') continue
      if (isWire(outcome.reason, 'NoNode')) return null
      throw outcome.reason
    }
    if (data.status !== 'fulfilled' || children.status !== 'fulfilled') return null
    const life = children.value.names[0]
    return life === undefined ? null : foundIn(data.value.data, data.value.stat, life)
  }

  /** Replaces what was found, in one transaction with `guards`. Null when it, or a guard, was not as it should be. */
  async replace(
    client: ZooKeeperClient,
    key: string,
    found: Found | null,
    next: Next,
    guards: readonly Step[],
  ): Promise<{ version: number } | null> {
    const steps = this.stepsOf(key, found, next)
    const result = await client.multi([...guards, ...steps])
    if (!result.ok) {
      if (isWire(result.error, 'NoNode', 'NodeExists', 'BadVersion', 'NotEmpty')) return null
      throw result.error
    }
    const stat = result.done.at(-1)?.stat ?? null
    if (stat === null) return { version: 0 }
    this.desk.clock.learn(stat.mtimeMs)
    return { version: versionOf(stat) }
  }

  private stepsOf(key: string, found: Found | null, next: Next): readonly Step[] {
    const { acl, paths, runtime } = this.desk
    const path = paths.record(key)
    if (found === null) {
      if (next === null) return []
      const life = `${path}/${encodeURIComponent(runtime.newId())}`
      return [
        { kind: 'create', path, data: NOTHING, node: 'persistent', acl },
        { kind: 'create', path: life, data: NOTHING, node: 'persistent', acl },
        // Of these three only this one tells its number.
        { kind: 'set', path, data: dataOf(next) },
      ]
    }
    const life = `${path}/${found.life}`
    const version = found.nodeVersion
    if (next === null)
      return [
        { kind: 'delete', path: life },
        { kind: 'delete', path, version },
      ]
    return [
      { kind: 'check', path: life },
      { kind: 'set', path, data: dataOf(next), version },
    ]
  }
}

function dataOf(next: NonNullable<Next>): Buffer {
  const { value } = next
  const end: Omit<RecordData, 'value'> =
    'ttlMs' in next
      ? next.ttlMs === null
        ? {}
        : { ttlMs: next.ttlMs }
      : next.expiresAtMs === null
        ? {}
        : { expiresAtMs: next.expiresAtMs }
  return Buffer.from(JSON.stringify({ value, ...end }))
}

function foundIn(data: Buffer, stat: Stat, life: string): Found {
  const { value, expiresAtMs, ttlMs } = JSON.parse(data.toString()) as RecordData
  const endsAtMs = ttlMs === undefined ? (expiresAtMs ?? null) : stat.mtimeMs + ttlMs
  return {
    record: { value, version: versionOf(stat), expiresAtMs: endsAtMs },
    nodeVersion: stat.version,
    life,
  }
}

/** The number of the transaction that wrote it: it never comes again, not even after a removal. */
function versionOf({ mzxid }: Stat): number {
  const version = Number(mzxid)
  if (Number.isSafeInteger(version)) return version
  throw new StoreError('the transactions of this ensemble have outgrown what a version can count')
}
