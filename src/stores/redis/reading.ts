import type { Scripting } from './scripting.ts'
import { isPartial, joinedPages, type RawLock } from './state.ts'

/** Holders and waiters of one call, so that it is short; at least so many of each key. */
const SHOWN_PER_CALL = 200
const SHOWN_PER_KEY = 4

/** Locks as the server has them; null for an unknown format. */
interface LockSnapshot {
  readonly stampUs: number
  readonly states: readonly (RawLock | null)[]
}

/** Reads locks as they were written; a crowd is read in parts, so that each call is short. */
export async function readLocks(scripting: Scripting, names: readonly string[]): Promise<LockSnapshot> {
  const most = Math.max(SHOWN_PER_KEY, Math.floor(SHOWN_PER_CALL / names.length))
  const { stampUs, states } = await readOnce(scripting, names, most, 0)
  const whole = states.map(async (state, index) =>
    state === null ? null : readOn(scripting, names[index] as string, state, most),
  )
  return { stampUs, states: await Promise.all(whole) }
}

async function readOn(scripting: Scripting, name: string, first: RawLock, shown: number): Promise<RawLock> {
  let whole = first
  let isMore = isPartial(first, shown)
  for (let from = shown; isMore; from += SHOWN_PER_CALL) {
    const [next] = (await readOnce(scripting, [name], SHOWN_PER_CALL, from)).states
    if (next === undefined || next === null) break
    whole = joinedPages(whole, next)
    isMore = isPartial(next, SHOWN_PER_CALL)
  }
  return whole
}

async function readOnce(
  scripting: Scripting,
  names: readonly string[],
  most: number,
  from: number,
): Promise<LockSnapshot> {
  const args = [String(most), String(from)]
  const [stamp, ...states] = (await scripting.run('read', names, args)) as [unknown, ...unknown[]]
  return {
    stampUs: Number(stamp),
    states: states.map((raw) => (Array.isArray(raw) ? (raw as unknown as RawLock) : null)),
  }
}
