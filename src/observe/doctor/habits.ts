import type { Records } from '../../core/store.ts'
import { keyPattern } from '../patterns.ts'
import type { Usual } from './context.ts'
import { addAll, countOf, halved, quantileMs, type Times } from './histogram.ts'

/** The record in which all processes of a store keep how long its keys are held. */
const RECORD = 'holdfast:habits'
const FORMAT = 1
/** The habits of a system that no longer runs are of no use. */
const KEPT_MS = 7 * 86_400_000
const MOST_PATTERNS = 100
/** Above this, older holds begin to count for less. */
const MOST_HOLDS = 10_000
const TRIES = 5

/** The statistics of the keys of one pattern. */
export interface Habit {
  /** The durations of the work under each lease. */
  work: Times
  /** The durations of the store's claims, over all local handovers: the times that the key was closed to other processes. */
  closed: Times
  ttlMs: number
  expired: number
  /** The time of the last addition, by the clock of its process. */
  atMs: number
}

export type Habits = Record<string, Habit>

interface Kept {
  readonly format: number
  readonly habits: Habits
}

export function newHabit(): Habit {
  return { work: {}, closed: {}, ttlMs: 0, expired: 0, atMs: 0 }
}

/** Merges both within a limit: the patterns that were not seen for the longest time are dropped. */
export function mergedHabits(known: Habits, more: Habits): Habits {
  const all: Habits = Object.assign(Object.create(null), known)
  for (const [pattern, habit] of Object.entries(more)) {
    const before = all[pattern] ?? newHabit()
    const work = { ...before.work }
    const closed = { ...before.closed }
    addAll(work, habit.work)
    addAll(closed, habit.closed)
    const many = countOf(work) > MOST_HOLDS
    all[pattern] = {
      work: many ? halved(work) : work,
      closed: many ? halved(closed) : closed,
      ttlMs: Math.max(before.ttlMs, habit.ttlMs),
      expired: many ? Math.floor((before.expired + habit.expired) / 2) : before.expired + habit.expired,
      atMs: Math.max(before.atMs, habit.atMs),
    }
  }
  const latest = Object.entries(all).sort(([, one], [, other]) => other.atMs - one.atMs)
  return Object.fromEntries(latest.slice(0, MOST_PATTERNS))
}

/** Adds to the record in the store. Other processes do the same, so it retries a few times and then gives up. */
export async function publish(records: Records, more: Habits): Promise<void> {
  for (let left = TRIES; left > 0; left--) {
    const record = await records.read(RECORD)
    const value: Kept = { format: FORMAT, habits: mergedHabits(habitsOf(record?.value), more) }
    const condition =
      record === null
        ? ({ kind: 'absent' } as const)
        : ({ kind: 'version', version: record.version } as const)
    const answer = await records.write(RECORD, JSON.stringify(value), KEPT_MS, condition)
    if (answer.kind === 'written') return
  }
}

export async function readHabits(records: Records): Promise<Habits> {
  return habitsOf((await records.read(RECORD))?.value)
}

export function usuals(habits: Habits): readonly Usual[] {
  return Object.entries(habits).map(([pattern, { work, closed, ttlMs, expired }]) => ({
    pattern,
    holds: countOf(work),
    closedP99Ms: quantileMs(closed, 0.99),
    workP99Ms: quantileMs(work, 0.99),
    ttlMs,
    expired,
  }))
}

/** The usual use of the keys of each pattern. */
export function usualBy(known: readonly Usual[]): (key: string) => Usual | null {
  const byPattern = new Map(known.map((usual) => [usual.pattern, usual]))
  return (key) => byPattern.get(keyPattern(key)) ?? null
}

/** A record of a newer version stays until this version would forget it. */
function habitsOf(text: string | undefined): Habits {
  if (text === undefined) return {}
  const kept = JSON.parse(text) as Kept
  return kept.format === FORMAT ? kept.habits : {}
}
