import { InvalidArgumentError } from '../errors.ts'
import type { HolderView } from '../model/index.ts'
import type { Eviction, EvictOptions } from './api.ts'
import { checkFlag, checkOptions, checkText } from './check.ts'
import { show } from './durations.ts'
import type { Engine } from './engine.ts'
import { EVICT_OPTIONS } from './option-names.ts'
import type { Admin, Records } from './store.ts'

/** Long enough to find out a month later why a job stopped. */
const KEPT_MS = 30 * 86_400_000
const MOST_KEPT = 20
/** Operators are few, so a conflict with another write is over by the next try. */
const TRIES = 5

/** Evicts the holders of a key, or asks them to release it, and records that in the store. */
export async function evict(
  engine: Engine,
  { admin, records }: { readonly admin: Admin; readonly records: Records | null },
  storeKey: string,
  options: EvictOptions,
): Promise<readonly string[]> {
  checkOptions('options', options, EVICT_OPTIONS)
  const { token, by = engine.settings.label } = options
  // A mistake in `ask` must not evict the holder.
  const ask = checkFlag('ask', options.ask, false)
  if (token !== undefined && typeof token !== 'bigint')
    throw new InvalidArgumentError('token', `must be a bigint, not ${show(token)}`)
  checkText('by', by)
  const { holders } = await admin.read(storeKey)
  const { labels } = await admin.evict(storeKey, token ?? null, ask)
  if (labels.length === 0 || records === null) return labels
  const entry: Eviction = {
    at: new Date(engine.runtime.wallMs()).toISOString(),
    by,
    asked: ask,
    holders: labels.map((label) => entryOf(label, token ?? null, holders)),
  }
  // The holder is evicted by now: a failed record must not look like a failed eviction.
  await note(records, storeKey, entry).catch(() => {})
  return labels
}

/** The evictions of a key, the latest first. */
export async function evictionsOf(records: Records | null, storeKey: string): Promise<readonly Eviction[]> {
  const record = await records?.read(nameOf(storeKey))
  return record === undefined || record === null ? [] : (JSON.parse(record.value) as Eviction[])
}

async function note(records: Records, storeKey: string, entry: Eviction): Promise<void> {
  const name = nameOf(storeKey)
  for (let left = TRIES; left > 0; left--) {
    const record = await records.read(name)
    const earlier = record === null ? [] : (JSON.parse(record.value) as Eviction[])
    const value = JSON.stringify([entry, ...earlier].slice(0, MOST_KEPT))
    const condition =
      record === null
        ? ({ kind: 'absent' } as const)
        : ({ kind: 'version', version: record.version } as const)
    if ((await records.write(name, value, KEPT_MS, condition)).kind === 'written') return
  }
}

function entryOf(label: string, token: bigint | null, holders: readonly HolderView[]) {
  const holder = holders.find((each) => each.label === label && (token === null || each.token === token))
  return { label, token: holder?.token?.toString() ?? null, heldMs: holder?.heldMs ?? null }
}

function nameOf(storeKey: string): string {
  return `evicted:${storeKey}`
}
