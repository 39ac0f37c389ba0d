import type { Lease } from '../core/api.ts'
import { InvalidArgumentError, quote, StoreError } from '../errors.ts'
import { pause, type RecipeKit, recordsOf } from './kit.ts'
import { packed, unpacked } from './values.ts'

/** Its name in errors. */
export const RESULT = 'the result of the work'
const SHORTEST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1000
/** A store that refuses a result this often, but answers otherwise, gets only the mark that the work is done. */
const TRIES_BEFORE_MARK = 3
/** The retry time with a store that does not answer, after the lease was lost. */
const TRYING_MS = 600_000

/** A result that is being stored. */
export interface Finished {
  readonly name: string
  readonly result: unknown
  readonly maxBytes: number
  readonly ttlMs: number
}

/**
 * Stores the result of finished work unless another one is stored already, even if the lease is lost by now: the effect
 * happened. A result that cannot be stored leaves the mark that the work is done. Never rejects, and waits for a silent store
 * only as long as the lease lives; the tries continue in the background.
 */
export async function keepResult(
  kit: RecipeKit,
  lease: Lease,
  id: string,
  finished: Finished,
): Promise<void> {
  const { text, problem } = textOf(finished)
  if (problem !== null) warn(id, problem)
  const write = async (value: string): Promise<StoreError | null> => {
    try {
      await recordsOf(kit, 'once').write(finished.name, value, finished.ttlMs, { kind: 'absent' })
      return null
    } catch (error) {
      if (error instanceof StoreError) return error
      throw error
    }
  }
  const lost = (error: unknown) => warn(id, `did not reach the store: ${String(error)}`)
  try {
    if ((await write(text)) !== null)
      await Promise.race([tryAgain(kit, id, text, write).catch(lost), loss(lease)])
  } catch (error) {
    lost(error)
  }
}

async function tryAgain(
  kit: RecipeKit,
  id: string,
  text: string,
  write: (value: string) => Promise<StoreError | null>,
): Promise<void> {
  const untilMs = kit.runtime.nowMs() + TRYING_MS
  let pauseMs = SHORTEST_PAUSE_MS
  for (let tries = 1; ; tries++) {
    await pause(kit, pauseMs)
    const error = await write(text)
    if (error === null) return
    const refusal = `was refused by the store: ${error.message}`
    if (tries >= TRIES_BEFORE_MARK && (await write(markOf(refusal))) === null) return warn(id, refusal)
    if (kit.runtime.nowMs() >= untilMs) throw error
    pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
  }
}

/** The result for a later caller. */
export function resultOf<T>(id: string, text: string): T {
  const { notKept } = JSON.parse(text) as { notKept?: string }
  if (notKept === undefined) return unpacked<T>(text)
  throw new InvalidArgumentError(RESULT, `${notKept}. ${quote(id)} was done, and is not run again`)
}

function textOf({ result, maxBytes }: Finished): { text: string; problem: string | null } {
  try {
    return { text: packed(RESULT, result, maxBytes), problem: null }
  } catch (error) {
    // A getter of the result may throw anything.
    const isRefused = error instanceof InvalidArgumentError
    const problem = isRefused ? error.message.slice(RESULT.length + 1) : `cannot be read: ${String(error)}`
    return { text: markOf(problem), problem }
  }
}

function markOf(notKept: string): string {
  return JSON.stringify({ notKept })
}

function loss({ signal }: Lease): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function warn(id: string, problem: string): void {
  process.emitWarning(
    `${quote(id)} was done, but its result is not kept: ${RESULT} ${problem}`,
    'HoldfastWarning',
  )
}
