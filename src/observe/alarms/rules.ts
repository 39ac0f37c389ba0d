import type { Happened } from './window.ts'

export type RuleName = 'successRate' | 'waitP99' | 'timeouts' | 'losses' | 'keysWithoutTtl'

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

export interface Rule {
  readonly name: RuleName
  /** Its name in the alert file. */
  readonly alert: string
  readonly severity: 'warning' | 'critical'
  readonly breachedWhen: 'under' | 'over'
  /** A ratio, seconds or a count, compared with `limit`. */
  readonly limit: number
  /** Its meaning, one sentence. */
  readonly summary: string
  /** The value in PromQL, one for each pattern if there are patterns. */
  expression(window: string): string
  /** The same value here; null if there is nothing to measure. */
  judge(happened: Happened): number | null
}

const acquisitions = (outcomes: string) => `holdfast_acquisitions_total{outcome=~"${outcomes}"}`
const TIMEOUTS = 'holdfast_acquisitions_total{outcome="timeout"}'
const LOSSES = 'holdfast_losses_total{cause=~"deadline|expired|evicted"}'

/** The rules of the alert file, of the alarms of a process, and of the documentation. */
export const ALARM_RULES: readonly Rule[] = [
  {
    name: 'successRate',
    alert: 'HoldfastLowSuccessRate',
    severity: 'warning',
    breachedWhen: 'under',
    limit: 0.8,
    summary: 'Fewer than 80 % of those who waited for a lock got it',
    expression: (window) =>
      `sum by (pattern) (rate(${acquisitions('granted')}[${window}])) / ` +
      `sum by (pattern) (rate(${acquisitions('granted|timeout|failed')}[${window}]))`,
    judge: ({ granted, timeouts, failed }) => {
      const ended = granted + timeouts + failed
      return ended === 0 ? null : granted / ended
    },
  },
  {
    name: 'waitP99',
    alert: 'HoldfastLongWaits',
    severity: 'warning',
    breachedWhen: 'over',
    limit: 0.1,
    summary: 'One in a hundred waits for a lock takes longer than 100 ms',
    expression: (window) =>
      `histogram_quantile(0.99, sum by (pattern, le) (rate(holdfast_wait_seconds_bucket[${window}])))`,
    judge: ({ waitP99Seconds }) => waitP99Seconds,
  },
  {
    name: 'timeouts',
    alert: 'HoldfastTimeouts',
    severity: 'warning',
    breachedWhen: 'over',
    limit: 0,
    summary: 'Waits for a lock ended in a timeout',
    expression: (window) => newOnesOf(TIMEOUTS, window),
    judge: ({ timeouts }) => timeouts,
  },
  {
    name: 'losses',
    alert: 'HoldfastLostLeases',
    severity: 'critical',
    breachedWhen: 'over',
    limit: 0,
    summary: 'Leases were lost while their holders were at work',
    expression: (window) => newOnesOf(LOSSES, window),
    judge: ({ lost }) => lost,
  },
  {
    name: 'keysWithoutTtl',
    alert: 'HoldfastKeysWithoutTtl',
    severity: 'critical',
    breachedWhen: 'over',
    limit: 0,
    summary: 'Keys that look like locks have no time to live: if their holder dies, they stay locked',
    expression: () => 'max(holdfast_keys_without_ttl)',
    // Measured for the whole store, not by pattern.
    judge: () => null,
  },
]

export function isBreached({ breachedWhen }: Rule, value: number, limit: number): boolean {
  return breachedWhen === 'under' ? value < limit : value > limit
}

/** A new counter starts above zero, which `increase` does not see. */
function newOnesOf(counter: string, window: string): string {
  return (
    `(sum by (pattern) (increase(${counter}[${window}])) > 0 or ` +
    `sum by (pattern) (${counter} unless ${counter} offset ${window}))`
  )
}
