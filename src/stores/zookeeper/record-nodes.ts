import { StoreError } from '../../errors.ts'
import type { RecordState } from '../../model/index.ts'
import type { ZooKeeperClient } from './client/client.ts'
import { isWire } from './client/errors.ts'
import type { MultiOp } from './client/operations.ts'
import type { Stat } from './client/protocol.ts'
import type { StoreContext } from './context.ts'

/** The data of a record's node. `ttlMs` counts from the write, whose time only the ensemble knows. */
interface RecordData {
  readonly value: string
  readonly expiresAtMs?: number
  readonly ttlMs?: number
}

/** A new value with its end, or null to remove the record. */
export type NextRecord =
  | { readonly value: string; readonly expiresAtMs: number | null }
  | { readonly value: string; readonly ttlMs: number | null }
  | null

/**
 * A record as it was read. Its node has one child with a unique name, the `life`, because a node that is deleted and made
 * again counts its versions from 0 again: a write based on one life must fail in the next.
 */
export interface FoundRecord {
  readonly record: RecordState
  readonly nodeVersion: number
  readonly life: string
}

const NOTHING = Buffer.alloc(0)

/** The record as the leader knows it now, expired or not. */
export async function findRecord(
  { paths }: StoreContext,
  client: ZooKeeperClient,
  key: string,
): Promise<FoundRecord | null> {
  const path = paths.record(key)
  const [, data, children] = await Promise.allSettled([
    client.sync(paths.root),
    client.getData(path),
    client.list(path),
  ])
  for (const outcome of [data, children]) {
    if (outcome.status === 'fulfilled') continue
    if (isWire(outcome.reason, 'NoNode')) return null
    throw outcome.reason
  }
  if (data.status !== 'fulfilled' || children.status !== 'fulfilled') return null
  const life = children.value[0]
  return life === undefined ? null : foundIn(data.value.data, data.value.stat, life)
}

/** Replaces the record in one transaction with `guards`. Returns its version, or null if it has changed or a guard fails. */
export async function replaceRecord(
  context: StoreContext,
  client: ZooKeeperClient,
  key: string,
  found: FoundRecord | null,
  next: NextRecord,
  guards: readonly MultiOp[] = [],
): Promise<number | null> {
  const result = await client.multi([...guards, ...opsOf(context, key, found, next)])
  if (!result.ok) {
    if (isWire(result.error, 'NoNode', 'NodeExists', 'BadVersion', 'NotEmpty')) return null
    throw result.error
  }
  const stat = result.done.at(-1)?.stat ?? null
  if (stat === null) return 0
  context.clock.learn(stat.mtimeMs)
  return versionOf(stat)
}

function opsOf(
  { acl, paths, runtime }: StoreContext,
  key: string,
  found: FoundRecord | null,
  next: NextRecord,
): readonly MultiOp[] {
  const path = paths.record(key)
  if (found === null) {
    if (next === null) return []
    const life = `${path}/${encodeURIComponent(runtime.newId())}`
    return [
      { kind: 'create', path, data: NOTHING, node: 'persistent', acl },
      { kind: 'create', path: life, data: NOTHING, node: 'persistent', acl },
      // Only the answer to a `set` contains the mzxid.
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

function dataOf(next: NonNullable<NextRecord>): Buffer {
  const { value } = next
  const [name, end] = 'ttlMs' in next ? ['ttlMs', next.ttlMs] : ['expiresAtMs', next.expiresAtMs]
  return Buffer.from(JSON.stringify({ value, ...(end !== null && { [name as string]: end }) }))
}

function foundIn(data: Buffer, stat: Stat, life: string): FoundRecord {
  const { value, expiresAtMs, ttlMs } = JSON.parse(data.toString()) as RecordData
  const endsAtMs = ttlMs === undefined ? (expiresAtMs ?? null) : stat.mtimeMs + ttlMs
  return {
    record: { value, version: versionOf(stat), expiresAtMs: endsAtMs },
    nodeVersion: stat.version,
    life,
  }
}

/** The number of the transaction that wrote the record: it never repeats, not even after a removal. */
function versionOf({ mzxid }: Stat): number {
  const version = Number(mzxid)
  if (Number.isSafeInteger(version)) return version
  throw new StoreError('the transactions of this ensemble have outgrown what a version can count')
}
