import type { HolderView, KeyView, WaiterView } from '../../model/index.ts'
import { type DoctorContext, ENOUGH_HOLDS, FAR, type Glimpse, leftBefore } from './context.ts'
import { type Finding, finding, type Severity } from './findings.ts'
import { span, word } from './words.ts'

/** The wait of a queue's head that becomes a finding if the usual is not known. */
const NOTE_MS = 5000
const WARNING_MS = 20_000
const CRITICAL_MS = 60_000
const LEAST_MS = 1000
/** Tolerance between two looks at one waiter: clocks and answers are not exact. */
const SLACK_MS = 500
/** A waiter renews its position after a third of its ttl; below this part of it, two renewals are missing. */
const OVERDUE = 1 / 3
/** The candidates of an election wait as long as the leader leads, on purpose. */
const ELECTION = /(?:^|\W)election:/

/** Findings about the waiters of a key. */
export function examineLine(view: KeyView, before: Glimpse | undefined, context: DoctorContext): Finding[] {
  const dead = view.queue.map((waiter) => deadWaiter(view.key, waiter, context))
  return [lineStuck(view, before, context), ...dead].filter((each) => each !== null)
}

function lineStuck(view: KeyView, before: Glimpse | undefined, context: DoctorContext): Finding | null {
  const { key, holders, queue, closedForMs } = view
  const [head] = queue
  if (head === undefined || before === undefined || before.head === null || closedForMs > 0) return null
  if (ELECTION.test(key) || holders.some((holder) => leftBefore(holder, before) === undefined)) return null
  const waitedMs = isSame(head, before, context.elapsedMs) ? head.waitedMs : 0
  const severity = severityOf(waitedMs, quietMs(holders), limitOf(key, context))
  if (severity === null) return null
  const [holder] = holders
  const blocked = holder === undefined ? 'nobody holds the key' : heldBy(holder, before, context.elapsedMs)
  const token = holder === undefined || holder.token === null ? '' : ` --token ${holder.token}`
  return finding(
    'LINE_STUCK',
    key,
    `${head.label}, first of ${queue.length}, has waited for ${span(head.waitedMs)} and ${blocked}; nothing moved within ${span(context.elapsedMs)}`,
    holder === undefined ? 'holdfast reap --yes' : `holdfast evict ${word(key)}${token} --ask --wait 30s`,
    severity,
  )
}

/** Waiters that time out leave the queue with a young head, so the age of the hold counts, too. */
function severityOf(waitedMs: number, heldMs: number, limitMs: number | null): Severity | null {
  if (limitMs !== null) return waitedMs > limitMs ? 'critical' : null
  if (waitedMs > CRITICAL_MS) return 'critical'
  if (waitedMs > WARNING_MS || heldMs > CRITICAL_MS) return 'warning'
  return waitedMs > NOTE_MS || heldMs > NOTE_MS ? 'note' : null
}

/** The time since the last grant; 0 if it is not known. */
function quietMs(holders: readonly HolderView[]): number {
  const ages = holders.map(({ heldMs }) => heldMs ?? 0)
  return ages.length === 0 ? 0 : Math.min(...ages)
}

/** A renewal between the two looks proves that the process lives; without one, a short watch proves nothing. */
function heldBy(holder: HolderView, before: Glimpse, elapsedMs: number): string {
  const { label, heldMs, expiresInMs } = holder
  const has = `${label} holds it${heldMs === null ? '' : ` for ${span(heldMs)}`}`
  const thenMs = leftBefore(holder, before)
  if (expiresInMs === null || thenMs == null) return has
  return expiresInMs > thenMs - elapsedMs + SLACK_MS
    ? `${has} and renews it, so its process lives`
    : `${has}, which ends in ${span(expiresInMs)} unless it is renewed`
}

function deadWaiter(key: string, waiter: WaiterView, context: DoctorContext): Finding | null {
  const { label, waitedMs, expiresInMs, ttlMs } = waiter
  const why =
    context.whyGone(label, context.wallMs - waitedMs) ??
    (context.isDeaf('waiter', key, label) ? 'no connection listens for its turn' : null) ??
    (expiresInMs < ttlMs * OVERDUE - SLACK_MS
      ? `it renews its position every ${span(ttlMs / 3)} and has not`
      : null)
  if (why === null) return null
  return finding(
    'DEAD_WAITER',
    key,
    `${label} has waited for ${span(waitedMs)}, but ${why}; its position ends in ${span(expiresInMs)}`,
    `wait ${span(expiresInMs)}; then: holdfast show ${word(key)}`,
  )
}

function isSame(head: WaiterView, before: Glimpse, elapsedMs: number): boolean {
  const then = before.head
  if (then === null || then.label !== head.label) return false
  return Math.abs(head.waitedMs - then.waitedMs - elapsedMs) <= SLACK_MS + elapsedMs / 10
}

/** Null if neither an option nor a process says how long such keys are held. */
function limitOf(key: string, { settings, usualOf }: DoctorContext): number | null {
  if (settings.stuckMs !== null) return settings.stuckMs
  if (settings.usualMs !== null) return FAR * settings.usualMs
  const usual = usualOf(key)
  return usual === null || usual.holds < ENOUGH_HOLDS ? null : Math.max(FAR * usual.closedP99Ms, LEAST_MS)
}
