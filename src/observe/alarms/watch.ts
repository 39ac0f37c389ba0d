import { checkOptions, type NamesOf } from '../../core/check.ts'
import { type Duration, durationMs } from '../../core/durations.ts'
import type { Runtime, Timer } from '../../core/runtime.ts'
import { InvalidArgumentError } from '../../index.ts'
import type { Collector } from '../collector.ts'
import type { Alarm } from './rules.ts'
import { ALARM_RULES, isBreached, type Rule, type RuleName } from './rules.ts'
import { type Happened, Window } from './window.ts'

export interface AlarmOptions {
  /** Other limits than those of the alert file (a ratio, seconds or a count), or `false` to drop a rule. */
  readonly rules?: Partial<Record<RuleName, number | false>>
  /** The rules look at the events within this time: 5 minutes by default. */
  readonly window?: Duration
  /** The interval of the evaluation: every 5 seconds by default. */
  readonly every?: Duration
}

const LONGEST_MS = 24 * 3_600_000
const KNOWN_RULES = Object.fromEntries(ALARM_RULES.map(({ name }) => [name, true])) as NamesOf<
  Record<RuleName, unknown>
>
const OF_THE_STORE = ''

/** Evaluates the rules over a sliding window, and reports when one begins to fire and when it stops. */
export class AlarmWatch {
  private readonly collector: Collector
  private readonly runtime: Runtime
  private readonly tell: (alarm: Alarm) => void
  private readonly limits: ReadonlyMap<Rule, number>
  private readonly everyMs: number
  private readonly window: Window
  /** By rule, the patterns for which it fires. */
  private readonly firing = new Map<Rule, Set<string>>()
  private timer: Timer | null = null

  constructor(collector: Collector, runtime: Runtime, options: AlarmOptions, tell: (alarm: Alarm) => void) {
    this.collector = collector
    this.runtime = runtime
    this.tell = tell
    this.limits = limitsOf(options.rules ?? {})
    this.everyMs = durationMs('every', options.every ?? '5s', { minMs: 100, maxMs: LONGEST_MS })
    const windowMs = durationMs('window', options.window ?? '5m', { minMs: this.everyMs, maxMs: LONGEST_MS })
    this.window = new Window(collector, windowMs, runtime.nowMs())
    this.arm()
  }

  close(): void {
    this.timer?.clear()
    this.timer = null
  }

  private arm(): void {
    this.timer = this.runtime.setTimer(
      () => {
        this.arm()
        this.judge()
      },
      this.everyMs,
      true,
    )
  }

  private judge(): void {
    const happened = this.window.slide(this.runtime.nowMs())
    for (const [rule, limit] of this.limits) {
      const firing = this.firing.get(rule) ?? new Set()
      this.firing.set(rule, firing)
      for (const [pattern, value] of this.valuesOf(rule, happened)) {
        const breached = value !== null && isBreached(rule, value, limit)
        if (breached === firing.has(pattern)) continue
        if (breached) firing.add(pattern)
        else firing.delete(pattern)
        this.tell(this.alarm(rule, limit, breached, pattern, value))
      }
    }
  }

  private valuesOf(rule: Rule, happened: readonly Happened[]): Iterable<[string, number | null]> {
    if (rule.name === 'keysWithoutTtl') return [[OF_THE_STORE, this.collector.keysWithoutTtl]]
    return happened.map((each): [string, number | null] => [each.pattern, rule.judge(each)])
  }

  private alarm(rule: Rule, limit: number, breached: boolean, pattern: string, value: number | null): Alarm {
    return {
      rule: rule.name,
      alert: rule.alert,
      state: breached ? 'firing' : 'resolved',
      severity: rule.severity,
      pattern: pattern === OF_THE_STORE ? null : pattern,
      value,
      limit,
      summary: rule.summary,
      at: new Date(this.runtime.wallMs()).toISOString(),
    }
  }
}

function limitsOf(given: Partial<Record<RuleName, number | false>>): ReadonlyMap<Rule, number> {
  for (const [name, limit] of Object.entries(checkOptions('rules', given, KNOWN_RULES))) {
    if (limit !== undefined && limit !== false && !(typeof limit === 'number' && limit >= 0))
      throw new InvalidArgumentError(`rules.${name}`, 'must be a number from 0, or false')
  }
  const wanted = ALARM_RULES.map((rule): [Rule, number | false] => [rule, given[rule.name] ?? rule.limit])
  return new Map(wanted.filter((each): each is [Rule, number] => each[1] !== false))
}
