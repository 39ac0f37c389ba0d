import type { Collector } from './collector.ts'
import { type Histogram, type Labels, PLACES, SECONDS } from './histogram.ts'
import type { Series } from './series.ts'

export interface Sample {
  readonly labels: Labels
  readonly value: number
}

interface Described {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
}

export interface NumberMeasure extends Described {
  readonly type: 'counter' | 'gauge'
  read(collector: Collector): readonly Sample[]
}

export interface HistogramMeasure extends Described {
  readonly type: 'histogram'
  /** In OpenTelemetry's notation: `s` for seconds. */
  readonly unit: string
  readonly bounds: readonly number[]
  read(collector: Collector): readonly Histogram[]
}

export type Measure = NumberMeasure | HistogramMeasure

/** Every measure: the outlets, the documentation and the checks of the dashboard use this list. */
export const MEASURES: readonly Measure[] = [
  {
    name: 'holdfast_acquisitions_total',
    type: 'counter',
    help: 'Wishes for a lock that ended, by how: granted, timeout, busy (would not wait), cancelled (by the caller), failed (store)',
    labels: ['pattern', 'outcome'],
    read: byPattern('outcome', ({ granted, turnedAway }) => ({ granted, ...turnedAway })),
  },
  histogram(
    'holdfast_wait_seconds',
    'Time until a lock was granted or the wait timed out',
    ({ wait }) => wait,
  ),
  histogram('holdfast_hold_seconds', 'Time from the grant to the release or the loss', ({ hold }) => hold),
  {
    ...histogram('holdfast_line_place', "Place in the store's line when it was joined", ({ place }) => place),
    unit: '1',
    bounds: PLACES,
  },
  {
    name: 'holdfast_losses_total',
    type: 'counter',
    help: 'Leases that ended before they were released, by cause',
    labels: ['pattern', 'cause'],
    read: byPattern('cause', ({ lost }) => lost),
  },
  {
    name: 'holdfast_renewals_total',
    type: 'counter',
    help: 'Renewals of leases, by outcome: renewed, failed (unknown, tried again)',
    labels: ['pattern', 'outcome'],
    read: byPattern('outcome', ({ renewed, renewFailed }) => ({ renewed, failed: renewFailed })),
  },
  {
    name: 'holdfast_renewal_seconds',
    type: 'histogram',
    help: 'Time that a renewal took',
    labels: [],
    unit: 's',
    bounds: SECONDS,
    read: ({ renewSeconds }) => [renewSeconds],
  },
  {
    name: 'holdfast_releases_total',
    type: 'counter',
    help: 'Releases, by outcome: released, expired (was over already), failed (outcome unknown)',
    labels: ['pattern', 'outcome'],
    read: byPattern('outcome', ({ releasedInTime, releasedExpired, releaseFailed }) => ({
      released: releasedInTime,
      expired: releasedExpired,
      failed: releaseFailed,
    })),
  },
  {
    name: 'holdfast_handovers_total',
    type: 'counter',
    help: 'Locks handed to the next waiter of the same process without the store',
    labels: ['pattern'],
    read: perPattern(({ handedOver }) => handedOver),
  },
  {
    name: 'holdfast_revocations_total',
    type: 'counter',
    help: 'Requests of an operator to let go of a lock',
    labels: ['pattern'],
    read: perPattern(({ revoked }) => revoked),
  },
  gauge('holdfast_held', 'Locks that this process holds now', (collector) => collector.local().held),
  gauge(
    'holdfast_waiting',
    'Waiters of this process now: over all processes, the length of the lines',
    (collector) => collector.local().waiting,
  ),
  {
    name: 'holdfast_store_calls_total',
    type: 'counter',
    help: 'Calls to the store that ended, by outcome: answered, failed (an error, or no answer in time)',
    labels: ['store', 'call', 'outcome'],
    read: (collector) =>
      collector.calls().flatMap(({ labels, calls, failures }) => [
        { labels: { ...labels, outcome: 'answered' }, value: calls - failures },
        { labels: { ...labels, outcome: 'failed' }, value: failures },
      ]),
  },
  {
    name: 'holdfast_store_claims_total',
    type: 'counter',
    help: 'Claims that travelled in those calls: claims per call is the size of a batch',
    labels: ['store', 'call'],
    read: (collector) => collector.calls().map(({ labels, claims }) => ({ labels, value: claims })),
  },
  {
    name: 'holdfast_store_call_seconds',
    type: 'histogram',
    help: 'Time that a call to the store took',
    labels: ['store', 'call'],
    unit: 's',
    bounds: SECONDS,
    read: (collector) => collector.calls().map(({ seconds }) => seconds),
  },
  {
    name: 'holdfast_event_loop_stalls_total',
    type: 'counter',
    help: 'Times that the event loop stood still, or the machine slept, while leases were held',
    labels: [],
    read: ({ stalls }) => [{ labels: {}, value: stalls }],
  },
  {
    name: 'holdfast_event_loop_stalled_seconds_total',
    type: 'counter',
    help: 'How long it stood still, in all',
    labels: [],
    read: ({ stalledSeconds }) => [{ labels: {}, value: stalledSeconds }],
  },
  {
    name: 'holdfast_keys_without_ttl',
    type: 'gauge',
    help: 'Keys that look like locks and never expire, as the doctor last found; absent until it has looked',
    labels: [],
    read: ({ keysWithoutTtl }) => (keysWithoutTtl === null ? [] : [{ labels: {}, value: keysWithoutTtl }]),
  },
]

function byPattern(label: string, countsOf: (series: Series) => Readonly<Record<string, number>>) {
  return (collector: Collector): Sample[] =>
    [...collector.series()].flatMap((series) =>
      Object.entries(countsOf(series)).map(([of, value]) => ({
        labels: { pattern: series.pattern, [label]: of },
        value,
      })),
    )
}

function perPattern(countOf: (series: Series) => number) {
  return (collector: Collector): Sample[] =>
    [...collector.series()].map((series) => ({
      labels: { pattern: series.pattern },
      value: countOf(series),
    }))
}

function histogram(name: string, help: string, of: (series: Series) => Histogram): HistogramMeasure {
  const read = (collector: Collector) => [...collector.series()].map(of)
  return { name, type: 'histogram', help, labels: ['pattern'], unit: 's', bounds: SECONDS, read }
}

function gauge(name: string, help: string, numberOf: (collector: Collector) => number): NumberMeasure {
  const read = (collector: Collector) => [{ labels: {}, value: numberOf(collector) }]
  return { name, type: 'gauge', help, labels: [], read }
}
