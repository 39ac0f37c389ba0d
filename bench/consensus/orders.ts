import type { Laps, LapsDone, Line, LineDone } from '../redis/orders.ts'

/** Orders to a worker process about a subject, and its answers. */
export interface Orders {
  /** Opens the subject, so that nothing of it is in a measurement. */
  open: { order: { subject: string }; answer: null }
  laps: { order: Laps; answer: LapsDone }
  line: { order: Line; answer: LineDone }
  /** One write after the other until the time is up: how long each took. */
  trips: { order: { subject: string; endNs: number }; answer: Float64Array }
}

export type Kind = keyof Orders

export interface Message<K extends Kind = Kind> {
  readonly kind: K
  readonly order: Orders[K]['order']
}

/** The arguments of a worker process. */
export interface Assignment {
  readonly store: StoreName
  readonly endpoint: string
}

export type StoreName = 'etcd' | 'zookeeper'
