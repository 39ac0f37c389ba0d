import type { KeyView } from '../../../model/index.ts'
import type { Scripting } from '../scripting.ts'
import { plainViewOf, type RawPlainLock } from './codec.ts'
import { stateName } from './names.ts'

/** How many waiters one call shows, so that the server is never held up; of one key among many, so many at least. */
const SHOWN_PER_CALL = 200
const SHOWN_PER_KEY = 4

interface Look {
  readonly nowMs: number
  readonly locks: readonly (RawPlainLock | null)[]
}

/** The locks as they are now; null for a format that is not known. A crowd is read in parts, and shown once. */
export async function readPlainLocks(
  scripting: Scripting,
  keys: readonly string[],
): Promise<readonly (KeyView | null)[]> {
  const most = Math.max(SHOWN_PER_KEY, Math.floor(SHOWN_PER_CALL / keys.length))
  const { nowMs, locks } = await readOnce(scripting, keys, most, 0)
  const views = locks.map(async (lock, index) => {
    const key = keys[index] as string
    return lock === null ? null : plainViewOf(key, await readOn(scripting, key, lock, most), nowMs)
  })
  return Promise.all(views)
}

async function readOn(
  scripting: Scripting,
  key: string,
  first: RawPlainLock,
  shown: number,
): Promise<RawPlainLock> {
  const [seq, texts, ends, ...holder] = first
  const waiters = new Map(texts.map((text, index) => [text, ends[index] as string]))
  let count = texts.length
  for (let from = shown, most = shown; count === most; from += most) {
    most = SHOWN_PER_CALL
    const [next] = (await readOnce(scripting, [key], most, from)).locks
    if (next === undefined || next === null) break
    for (const [index, text] of next[1].entries()) waiters.set(text, next[2][index] as string)
    count = next[1].length
  }
  return [seq, [...waiters.keys()], [...waiters.values()], ...holder]
}

async function readOnce(
  scripting: Scripting,
  keys: readonly string[],
  most: number,
  from: number,
): Promise<Look> {
  const names = keys.flatMap((key) => [key, stateName(key)])
  const answer = await scripting.run('plainRead', names, [String(most), String(from)])
  const [now, ...locks] = answer as [unknown, ...unknown[]]
  return {
    nowMs: Number(now),
    locks: locks.map((raw) => (Array.isArray(raw) ? (raw as unknown as RawPlainLock) : null)),
  }
}
