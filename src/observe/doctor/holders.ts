import type { HolderView, KeyView } from '../../model/index.ts'
import { type DoctorContext, ENOUGH_HOLDS, FAR, type Glimpse, leftBefore, type Usual } from './context.ts'
import { type Finding, finding } from './findings.ts'
import { argument, span, word } from './words.ts'

/** Below this, ten times the usual is not worth a finding. */
const LEAST_MS = 1000

/** Findings about the holders of a key. */
export function examineHolders(
  view: KeyView,
  before: Glimpse | undefined,
  context: DoctorContext,
): Finding[] {
  return view.holders
    .flatMap((holder) => {
      const idle = holderGone(view, holder, before, context) ?? holderStopped(view, holder, context)
      // A holder that does not work has no habits.
      return idle !== null
        ? [idle]
        : [heldTooLong(view, holder, before, context), ttlTooLong(view, holder, context)]
    })
    .filter((each) => each !== null)
}

function holderGone(
  { key, queue }: KeyView,
  holder: HolderView,
  before: Glimpse | undefined,
  context: DoctorContext,
): Finding | null {
  const why =
    context.whyGone(holder.label, context.wallMs - (holder.heldMs ?? 0)) ??
    (stays(holder, before) && context.isDeaf('holder', key, holder.label)
      ? 'no connection listens for what the store would tell it'
      : null)
  if (why === null) return null
  const left = holder.expiresInMs === null ? 'for ever' : `for another ${span(holder.expiresInMs)}`
  const waiting = queue.length === 0 ? 'nobody waits' : `${queue.length} waiting`
  return finding(
    'HOLDER_GONE',
    key,
    `${holder.label} has held it for ${held(holder)}, but ${why}; closed ${left}, ${waiting}`,
    evict(key, holder),
    queue.length > 0 || holder.expiresInMs === null ? 'critical' : 'warning',
  )
}

function holderStopped({ key, queue }: KeyView, holder: HolderView, context: DoctorContext): Finding | null {
  const pid = context.stoppedPid(holder.label)
  if (pid === null) return null
  const waiting = queue.length === 0 ? 'nobody waits' : `${queue.length} waiting`
  return finding(
    'HOLDER_STOPPED',
    key,
    `${holder.label} has held it for ${held(holder)}, and process ${pid} is stopped; ${waiting}`,
    `kill -CONT ${pid}   # or, if it is not to go on: ${evict(key, holder)}`,
    queue.length > 0 ? 'critical' : 'warning',
  )
}

function heldTooLong(
  { key, queue }: KeyView,
  holder: HolderView,
  before: Glimpse | undefined,
  { settings, usualOf }: DoctorContext,
): Finding | null {
  if (holder.heldMs === null || !stays(holder, before)) return null
  const usual = usualOf(key)
  const known = usual !== null && usual.holds >= ENOUGH_HOLDS
  const usualMs = settings.usualMs ?? (known ? usual.closedP99Ms : null)
  if (usualMs === null) return null
  const limitMs = settings.usualMs === null ? Math.max(FAR * usualMs, LEAST_MS) : FAR * usualMs
  if (holder.heldMs <= limitMs) return null
  const told =
    settings.usualMs !== null
      ? `usual is ${span(usualMs)}, as you say`
      : `99 of 100 holds of ${usual?.pattern} end within ${span(usualMs)} (${usual?.holds} seen)`
  return finding(
    'HELD_TOO_LONG',
    key,
    `${holder.label} has held it for ${held(holder)}; ${told}; ${queue.length} waiting`,
    `holdfast evict ${word(key)}${tokenOf(holder)} --ask --wait 30s`,
  )
}

function ttlTooLong({ key }: KeyView, holder: HolderView, context: DoctorContext): Finding | null {
  const { settings, maxTtlMs, usualOf } = context
  const usual = usualOf(key)
  const usedMs = usual === null || usual.ttlMs === 0 ? Number.POSITIVE_INFINITY : FAR * usual.ttlMs
  const limitMs = settings.maxTtlMs ?? Math.min(maxTtlMs, usedMs)
  if (holder.expiresInMs === null) {
    const evidence = `${holder.label} holds it without an end`
    return finding('FOREIGN_NO_TTL', key, evidence, evict(key, holder))
  }
  if (holder.expiresInMs <= limitMs) return null
  const limit =
    settings.maxTtlMs === null && usedMs < maxTtlMs
      ? `the longest ttl in use for ${usual?.pattern} is ${span(usual?.ttlMs ?? 0)}`
      : `the longest ttl allowed is ${span(limitMs)}`
  return finding(
    'TTL_TOO_LONG',
    key,
    `${holder.label} has ${span(holder.expiresInMs)} left; ${limit}`,
    `${evict(key, holder)}, if its process is gone; and in that program: acquire(key, { ttl: '${argument(Math.min(limitMs, 10_000))}' }), renewed while it works`,
  )
}

/** True if it had the key at the first look, too. */
function stays(holder: HolderView, before: Glimpse | undefined): boolean {
  return leftBefore(holder, before) !== undefined
}

function held({ heldMs }: HolderView): string {
  return heldMs === null ? 'an unknown time' : span(heldMs)
}

function evict(key: string, holder: HolderView): string {
  return `holdfast evict ${word(key)}${tokenOf(holder)}`
}

function tokenOf({ token }: HolderView): string {
  return token === null ? '' : ` --token ${token}`
}

/** Compares the times to live with the work, by the published habits. */
export function examineTimes(usuals: readonly Usual[], prefix: string): Finding[] {
  return usuals.flatMap(({ pattern, holds, workP99Ms, ttlMs, expired }) => {
    if (holds < ENOUGH_HOLDS || ttlMs === 0 || !pattern.startsWith(prefix)) return []
    // One expiry in a hundred says the same as the times.
    if (workP99Ms <= ttlMs && expired * 100 < holds) return []
    const lost =
      expired === 0
        ? 'none was lost, because they are renewed'
        : `${expired} ran out before the work was done`
    return [
      finding(
        'TTL_TOO_SHORT',
        pattern,
        `99 of 100 holds take up to ${span(workP99Ms)}, and the ttl is ${span(ttlMs)} (${holds} seen); ${lost}`,
        `acquire(key, { ttl: '${argument(2 * Math.max(workP99Ms, ttlMs))}' })   # twice what 99 of 100 take`,
        // With renewal, a ttl shorter than the work is intended.
        expired === 0 ? 'note' : 'warning',
      ),
    ]
  })
}
