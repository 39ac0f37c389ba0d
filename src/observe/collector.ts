import { checkFunction, checkLocks, checkOptions, checkWholeNumber, type NamesOf } from '../core/check.ts'
import type { LocalView, Locks, Meter } from '../index.ts'
import { Histogram, SECONDS, type Taps } from './histogram.ts'
import { keyPattern, Patterns } from './patterns.ts'
import { type Call, CallSeries, Series } from './series.ts'

/** Anything that tells what locks tell. */
export type Observed = Pick<Locks, 'on' | 'meter' | 'local' | 'traits'>

export interface CollectorOptions {
  /** The pattern of a key, under which it is counted; by default its numbers and ids become `*`. */
  readonly keyPattern?: (key: string) => string
  /** At most so many patterns, 100 by default; keys beyond them are counted as `other`. */
  readonly maxPatterns?: number
}

const OPTIONS: NamesOf<CollectorOptions> = { keyPattern: true, maxPatterns: true }
const MOST_PATTERNS = 100
/** How many keys find their series without a look at their pattern: at least so many, at most twice as many. */
const REMEMBERED_KEYS = 4096
const CALLS: readonly Call[] = ['attempt', 'renew', 'release', 'admin', 'records']

/** Counts what locks tell, by pattern of key. Everything that shows figures reads them here. */
export class Collector implements Meter {
  readonly renewSeconds: Histogram
  stalls = 0
  stalledSeconds = 0
  /** Set by whoever looks for keys that never expire; null until somebody did. */
  keysWithoutTtl: number | null = null
  private readonly taps: Taps = { listeners: [] }
  private readonly patterns: Patterns
  private readonly byPattern = new Map<string, Series>()
  private readonly byStore = new Map<string, Record<Call, CallSeries>>()
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

  /** Counts what these locks tell from now on. Returns the way to stop. */
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

  /** Called by the locks that are watched. */
  granted(key: string, waitedMs: number, handedOver: boolean): Series {
    const series = this.seriesOf(key)
    series.granted++
    if (handedOver) series.handedOver++
    series.wait.add(waitedMs / 1000)
    return series
  }

  /** Everything by pattern, in the order in which the patterns were met. */
  series(): Iterable<Series> {
    return this.byPattern.values()
  }

  /** The counts of keys like this one; its pattern counts as met. */
  seriesOf(key: string): Series {
    const known = this.recent.get(key)
    if (known !== undefined) return known
    const series = this.older.get(key) ?? this.ofPattern(this.patterns.of(key))
    // Two generations in place of a list in order of use, which would have to be changed at every look.
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

  /** Tells every value of every histogram. Returns the way to stop. */
  tap(listener: Taps['listeners'][number]): () => void {
    checkFunction('listener', listener)
    const { listeners } = this.taps
    listeners.push(listener)
    return () => {
      const place = listeners.indexOf(listener)
      if (place >= 0) listeners.splice(place, 1)
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

  private callsTo(store: string): Record<Call, CallSeries> {
    const known = this.byStore.get(store)
    if (known !== undefined) return known
    const calls = Object.fromEntries(CALLS.map((call) => [call, new CallSeries(store, call, this.taps)]))
    this.byStore.set(store, calls as Record<Call, CallSeries>)
    return calls as Record<Call, CallSeries>
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
