import type { RuleName } from './rules.ts'

/** A rule that began to be broken, or no longer is. */
export interface Alarm {
  readonly rule: RuleName
  /** The name of the same rule in the alert file. */
  readonly alert: string
  readonly state: 'firing' | 'resolved'
  readonly severity: 'warning' | 'critical'
  /** The pattern of the keys that it is about; null when it is about the store as a whole. */
  readonly pattern: string | null
  /** A ratio, seconds or a count, as the rule has it; null when there is nothing to judge any more. */
  readonly value: number | null
  readonly limit: number
  readonly summary: string
  /** ISO 8601. */
  readonly at: string
}
