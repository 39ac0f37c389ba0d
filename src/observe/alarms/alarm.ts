import type { RuleName } from './rules.ts'

/** A rule that begins to fire, or stops. */
export interface Alarm {
  readonly rule: RuleName
  /** The name of the same rule in the alert file. */
  readonly alert: string
  readonly state: 'firing' | 'resolved'
  readonly severity: 'warning' | 'critical'
  /** The pattern of its keys; null for an alarm about the whole store. */
  readonly pattern: string | null
  /** A ratio, seconds or a count, depending on the rule; null if there is nothing left to measure. */
  readonly value: number | null
  readonly limit: number
  readonly summary: string
  /** ISO 8601. */
  readonly at: string
}
