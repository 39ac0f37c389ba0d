/** The order to a program of this benchmark. */
export interface Order {
  readonly url: string
  readonly workload: string
  readonly subject: string
  readonly roundMs: number
}

export const OFF = 'off'
export const PROMETHEUS = 'Prometheus'
export const OPEN_TELEMETRY = 'OpenTelemetry, no-op'
export const SUBJECTS = [OFF, PROMETHEUS, OPEN_TELEMETRY] as const

interface Workload {
  readonly store: 'redis' | 'memory'
  /** True if every lock is on a key that was never seen before, so that its pattern has to be found. */
  readonly fresh: boolean
  /** True if the bound on the cost holds here. */
  readonly judged: boolean
}

export const WORKLOADS: Readonly<Record<string, Workload>> = {
  'redis, 1,000 keys at once': { store: 'redis', fresh: false, judged: true },
  'redis, 1,000 new keys at once': { store: 'redis', fresh: true, judged: false },
  'memory, 1,000 keys at once': { store: 'memory', fresh: false, judged: false },
}
