import type { Blocked } from '../../model/index.ts'
import type { LockRequest } from '../options.ts'

/** Fallback poll of the first two in the queue, in case a holder died or a push was lost. */
export const LOOK_MS = 1000
export const LOOKING_POSITIONS = 2
/** With more claims than this near the head of their queues, each of them looks less often. */
const MOST_LOOKS_A_SECOND = 500
const FIRST_BACKOFF_MS = 25
const LONGEST_BACKOFF_MS = 1000
/** A look at the very moment of an expiry comes too early by the difference of two clocks. */
const EXPIRY_SLACK_MS = 2

/** The factor by which claims look less often when many are near the head of their queues. */
export function crowdingOf(looking: number): number {
  return Math.max(1, looking / MOST_LOOKS_A_SECOND)
}

/** The time until a blocked claim attempts again; null if its heartbeat tells when the turn comes near. */
export function lookDelayMs(
  { position, retryAfterMs }: Blocked,
  ttlMs: number,
  spin: LockRequest['spin'],
  queued: boolean,
  crowding: number,
  chance: number,
): number | null {
  if (spin !== null) return spin.everyMs * (1 - spin.jitter * chance)
  // A position of 0 without a time to retry is one that the store does not count. A claim that could not join asks again.
  if (queued && (position > LOOKING_POSITIONS || (position === 0 && retryAfterMs === null))) return null
  const expiryMs = retryAfterMs === null ? Number.POSITIVE_INFINITY : retryAfterMs + EXPIRY_SLACK_MS
  const everyMs = Math.min(LOOK_MS * crowding, ttlMs / 3) * (0.9 + 0.1 * chance)
  return Math.min(everyMs, Math.max(expiryMs, FIRST_BACKOFF_MS * (crowding - 1)))
}

/** After a time-out the server may still be at work on the attempt, so the pause is as long as the call, up to the longest one. */
export function backoffMs(failures: number, tookMs: number, crowding: number): number {
  return Math.min(Math.max(FIRST_BACKOFF_MS * 2 ** failures, tookMs), LONGEST_BACKOFF_MS * crowding)
}
