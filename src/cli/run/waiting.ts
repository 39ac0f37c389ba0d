import type { Locks } from '../../index.ts'
import { say } from '../output.ts'
import { LABEL } from '../store.ts'
import { age, cut, neutralise, plural } from '../text.ts'

const REFRESH_MS = 1_000
const CLEAR_LINE = '\r\x1b[K'

interface Place {
  readonly holder: string | null
  readonly heldMs: number | null
  readonly others: number
  /** 1 is next; 0 if it is not known. */
  readonly position: number
}

/** Shows on stderr which holder we wait for: a line that is updated on a terminal, one line elsewhere. */
export function announceWaiting(locks: Locks, key: string, waitMs: number): () => void {
  const givesUpAtMs = performance.now() + waitMs
  const live = process.stderr.isTTY === true
  let timer: NodeJS.Timeout | undefined
  let over = false
  const show = async (position: number, holder: string | null): Promise<void> => {
    const place = await placeOf(locks, key, position, holder)
    if (over) return
    const text = waitingText(key, place, live ? givesUpAtMs - performance.now() : Infinity)
    if (!live) return say(text)
    const width = (process.stderr.columns ?? 80) - 1
    process.stderr.write(`${CLEAR_LINE}${cut(neutralise(`holdfast: ${text}`), width)}`)
    timer = setTimeout(() => void show(position, holder), REFRESH_MS)
  }
  const stopListening = locks.on('waiting', ({ position, holder }) => {
    stopListening()
    void show(position, holder)
  })
  return () => {
    over = true
    stopListening()
    clearTimeout(timer)
    if (timer !== undefined) process.stderr.write(CLEAR_LINE)
  }
}

function waitingText(key: string, { holder, heldMs, others, position }: Place, leftMs: number): string {
  const shared = others > 0 ? ` and ${plural(others, 'other')}` : ''
  const since = heldMs === null ? '' : ` for ${age(heldMs)}`
  const parts = [
    `waiting for ${JSON.stringify(key)}`,
    holder === null ? '' : `held by ${holder}${shared}${since}`,
    position === 0 ? '' : position === 1 ? 'we are next' : `number ${position} in the queue`,
    leftMs === Infinity ? '' : `giving up in ${age(Math.max(0, leftMs))}`,
  ]
  return parts.filter(Boolean).join(', ')
}

/** The present state in the store; if it cannot be read, the state that the claim knew last. */
async function placeOf(locks: Locks, key: string, position: number, holder: string | null): Promise<Place> {
  const view = await locks.read(key).catch(() => null)
  const first = view?.holders[0]
  const ours = view?.queue.findIndex((waiter) => waiter.label === LABEL) ?? -1
  return {
    holder: first?.label ?? holder,
    heldMs: first?.heldMs ?? null,
    others: Math.max(0, (view?.holders.length ?? 0) - 1),
    position: ours === -1 ? position : ours + 1,
  }
}
