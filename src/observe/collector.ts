import { checkFunction, checkLocks, checkOptions, checkWholeNumber, type NamesOf } from '../core/check.ts'
import type { LocalView, Locks, Meter } from '../index.ts'
import { Histogram, SECONDS, type Taps } from './histogram.ts'
import { keyPattern, Patterns } from './patterns.ts'
import { type CallKind, CallSeries, Series } from './series.ts'

/** The events of locks: a `Locks` object, or its metering part. */
export type Observed = Pick<Locks, 'on' | 'meter' | 'local' | 'traits'>

export interface CollectorOptions {
  /** The pattern of a key, under which it is counted; by default numbers and ids become `*`. */
  readonly keyPattern?: (key: string) => string
  /** The most patterns, 100 by default; further keys count as `other`. */
  readonly maxPatterns?: number
}

const OPTIONS: NamesOf<CollectorOptions> = { keyPattern: true, maxPatterns: true }
const MOST_PATTERNS = 100
/** The number of keys with a cached pattern: at least so many, at most twice as many. */
const REMEMBERED_KEYS = 4096
const CALLS: readonly CallKind[] = ['attempt', 'renew', 'release', 'admin', 'records']

/** Counts the events of locks by key pattern. Every outlet of metrics reads them here. */
export class Collector implements Meter {
  readonly renewSeconds: Histogram
  stalls = 0
  stalledSeconds = 0
  /** Set by a search for keys that never expire; null before the first one. */
  keysWithoutTtl: number | null = null
  private readonly taps: Taps = { listeners: [] }
  private readonly patterns: Patterns
  private readonly byPattern = new Map<string, Series>()
  private readonly byStore = new Map<string, Record<CallKind, CallSeries>>()
  private readonly watched = new Map<Observed, () => void>()
  private recent = new Map<string, Series>()
  private older = new Map<string, Series>()

  constructor(options: CollectorOptions = {}) {
    checkOptions('options', options, OPTIONS)
    const { keyPattern: patternOf = keyPattern, maxPatterns = MOST_PATTERNS } = options
    checkFunction('keyPattern', patternOf)
    checkWholeNumber('maxPatterns', maxPatterns, 0, 10_000)
    this.patterns = new Patterns(patternOf, maxPatterns)
    this.renewSeconds = new Histogram('holdfast_renewal_seconds', {}, SECONDS, this.taps)
  }

  /** Counts the events of these locks from now on. Returns a function that stops it. */
  watch(locks: Observed): () => void {
    checkLocks(locks, 'on', 'meter', 'local')
    const watching = this.watched.get(locks)
    if (watching !== undefined) return watching
    const stops = this.listen(locks)
    const stop = (): void => {
      this.watched.delete(locks)
      for (const end of stops) end()
    }
    this.watched.set(locks, stop)
    return stop
  }

  /** Called by the watched locks. */
  granted(key: string, waitedMs: number, handedOver: boolean): Series {
    const series = this.seriesOf(key)
    series.granted++
    if (handedOver) series.handedOver++
    series.wait.add(waitedMs / 1000)
    return series
  }

  /** The series by pattern, in the order of the patterns' first keys. */
  series(): Iterable<Series> {
    return this.byPattern.values()
  }

  /** The counts of keys like this one; its pattern counts as met. */
  seriesOf(key: string): Series {
    const known = this.recent.get(key)
    if (known !== undefined) return known
    const series = this.older.get(key) ?? this.ofPattern(this.patterns.of(key))
    // Two generations instead of an LRU list, which every look-up would change.
    if (this.recent.size >= REMEMBERED_KEYS) {
      this.older = this.recent
      this.recent = new Map()
    }
    this.recent.set(key, series)
    return series
  }

  calls(): readonly CallSeries[] {
    return [...this.byStore.values()].flatMap((calls) => Object.values(calls))
  }

  /** The numbers of holds and waiters of the watched locks right now. */
  local(): LocalView {
    const views = [...this.watched.keys()].map((locks) => locks.local())
    return {
      held: views.reduce((sum, { held }) => sum + held, 0),
      waiting: views.reduce((sum, { waiting }) => sum + waiting, 0),
    }
  }

  /** Reports every value of every histogram. Returns a function that stops it. */
  tap(listener: Taps['listeners'][number]): () => void {
    checkFunction('listener', listener)
    const { listeners } = this.taps
    listeners.push(listener)
    return () => {
      const at = listeners.indexOf(listener)
      if (at >= 0) listeners.splice(at, 1)
    }
  }

  close(): void {
    for (const stop of [...this.watched.values()]) stop()
  }

  private ofPattern(pattern: string): Series {
    const known = this.byPattern.get(pattern)
    if (known !== undefined) return known
    const series = new Series(pattern, this.taps)
    this.byPattern.set(pattern, series)
    return series
  }

  private callsTo(store: string): Record<CallKind, CallSeries> {
    const known = this.byStore.get(store)
    if (known !== undefined) return known
    const calls = Object.fromEntries(CALLS.map((call) => [call, new CallSeries(store, call, this.taps)]))
    this.byStore.set(store, calls as Record<CallKind, CallSeries>)
    return calls as Record<CallKind, CallSeries>
  }

  private listen(locks: Observed): readonly (() => void)[] {
    const calls = this.callsTo(locks.traits.name)
    return [
      locks.meter(this),
      locks.on('storeCall', ({ call, claims, tookMs, failed }) => {
        const series = calls[call]
        series.calls++
        series.claims += claims
        if (failed) series.failures++
        series.seconds.add(tookMs / 1000)
      }),
      locks.on('turnedAway', ({ key, why, waitedMs }) => {
        const series = this.seriesOf(key)
        series.turnedAway[why]++
        if (why === 'timeout') series.wait.add(waitedMs / 1000)
      }),
      locks.on('waiting', ({ key, position }) => this.seriesOf(key).place.add(position)),
      locks.on('renewed', ({ key, tookMs }) => {
        this.seriesOf(key).renewed++
        this.renewSeconds.add(tookMs / 1000)
      }),
      locks.on('renewFailed', ({ key }) => {
        this.seriesOf(key).renewFailed++
      }),
      locks.on('lost', ({ key, cause, heldMs }) => {
        const series = this.seriesOf(key)
        series.lost[cause]++
        series.hold.add(heldMs / 1000)
      }),
      locks.on('releaseFailed', ({ key, heldMs }) => {
        const series = this.seriesOf(key)
        series.releaseFailed++
        series.hold.add(heldMs / 1000)
      }),
      locks.on('revoked', ({ key }) => {
        this.seriesOf(key).revoked++
      }),
      locks.on('stalled', ({ stalledMs }) => {
        this.stalls++
        this.stalledSeconds += stalledMs / 1000
      }),
    ]
  }
}
