import type { KeyView, WaiterView } from '../../model/index.ts'
import { type Context, ENOUGH_HOLDS, FAR, type Glimpse } from './context.ts'
import { type Finding, finding } from './findings.ts'
import { span, word } from './words.ts'

const STUCK_MS = 60_000
const LEAST_MS = 1000
/** Clocks and answers are not exact: two looks at one waiter may differ by this. */
const SLACK_MS = 500
/** A place is renewed when a third of its ttl is over; below this part of it two renewals are missing. */
const OVERDUE = 1 / 3

/** What is wrong with those who wait for a key. */
export function examineLine(view: KeyView, before: Glimpse | undefined, context: Context): Finding[] {
  const dead = view.line.map((waiter) => deadWaiter(view.key, waiter, context))
  return [lineStuck(view, before, context), ...dead].filter((each) => each !== null)
}

function lineStuck(view: KeyView, before: Glimpse | undefined, context: Context): Finding | null {
  const { key, holders, line, closedForMs } = view
  const [head] = line
  if (head === undefined || closedForMs > 0 || !isSame(head, before, context.elapsedMs)) return null
  const limitMs = limitOf(key, context)
  const moved = holders.some(({ label, token }) => before?.tokens.has(`${label} ${token}`) === false)
  if (moved || head.waitedMs <= limitMs) return null
  const [holder] = holders
  const blocked =
    holder === undefined
      ? 'nobody holds the key'
      : `${holder.label} holds it${holder.heldMs === null ? '' : ` for ${span(holder.heldMs)}`}`
  const token = holder === undefined || holder.token === null ? '' : ` --token ${holder.token}`
  return finding(
    'LINE_STUCK',
    key,
    `${head.label}, first of ${line.length}, has waited for ${span(head.waitedMs)} and ${blocked}; nothing moved within ${span(context.elapsedMs)}`,
    holder === undefined ? 'holdfast reap --yes' : `holdfast evict ${word(key)}${token} --ask --wait 30s`,
  )
}

function deadWaiter(key: string, waiter: WaiterView, context: Context): Finding | null {
  const { label, waitedMs, expiresInMs, ttlMs } = waiter
  const why =
    context.whyGone(label, context.wallMs - waitedMs) ??
    (context.isDeaf('waiter', key, label) ? 'no connection listens for its turn' : null) ??
    (expiresInMs < ttlMs * OVERDUE - SLACK_MS
      ? `it renews its place every ${span(ttlMs / 3)} and has not`
      : null)
  if (why === null) return null
  return finding(
    'DEAD_WAITER',
    key,
    `${label} waits since ${span(waitedMs)}, but ${why}; its place ends in ${span(expiresInMs)}`,
    `wait ${span(expiresInMs)}; then: holdfast show ${word(key)}`,
  )
}

function isSame(head: WaiterView, before: Glimpse | undefined, elapsedMs: number): boolean {
  const then = before?.head ?? null
  if (then === null || then.label !== head.label) return false
  return Math.abs(head.waitedMs - then.waitedMs - elapsedMs) <= SLACK_MS + elapsedMs / 10
}

function limitOf(key: string, { settings, usualOf }: Context): number {
  if (settings.stuckMs !== null) return settings.stuckMs
  if (settings.usualMs !== null) return FAR * settings.usualMs
  const usual = usualOf(key)
  return usual === null || usual.holds < ENOUGH_HOLDS ? STUCK_MS : Math.max(FAR * usual.closedP99Ms, LEAST_MS)
}
