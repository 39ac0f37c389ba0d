/** What a worker process is told to do with a subject, and what it answers. */
export interface Orders {
  /** Opens the subject, so that nothing of it is in a measurement. */
  open: { order: { subject: string }; answer: null }
  /** Locks `width` keys at once, again and again, going through `keys` keys. */
  laps: { order: Laps; answer: LapsDone }
}

export type Kind = keyof Orders

export interface Laps {
  readonly subject: string
  readonly keys: number
  readonly width: number
  readonly lastsMs: number
}

export interface LapsDone {
  readonly done: number
  readonly tookMs: number
  readonly cpuMicroseconds: number
  readonly overlaps: number
}

export interface Message<K extends Kind = Kind> {
  readonly kind: K
  readonly order: Orders[K]['order']
}
