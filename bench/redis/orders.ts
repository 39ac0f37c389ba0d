/** Orders to a worker process about a subject, and its answers. */
export interface Orders {
  /** Opens the subject, so that nothing of it is in a measurement. */
  open: { order: { subject: string }; answer: null }
  /** Locks `width` keys at once, again and again, going through `keys` keys. */
  laps: { order: Laps; answer: LapsDone }
  /** Lets several waiters want one key until the time is up. */
  line: { order: Line; answer: LineDone }
  /** Takes that many keys and keeps them. */
  take: { order: { subject: string; keys: number; ttlMs: number }; answer: null }
  /** Does nothing but what goes on by itself. */
  rest: { order: { subject: string; lastsMs: number }; answer: Rested }
  /** Waits for some of the keys that another process keeps; answers when it got each of them. */
  rival: { order: { subject: string; keys: readonly number[] }; answer: Float64Array }
  /** Lets go of the keys that were taken; answers when it began to, and how many it did not have any more. */
  letGo: { order: { subject: string }; answer: { readonly atNs: number; readonly lost: number } }
}

export type Kind = keyof Orders

export interface Laps {
  readonly subject: string
  readonly keys: number
  readonly width: number
  /** Goes on for so long before it counts: a process that has slept finds its code and data out of reach. */
  readonly leadMs: number
  readonly lastsMs: number
}

export interface LapsDone {
  /** With those that do not count. */
  readonly all: number
  readonly done: number
  readonly tookMs: number
  readonly cpuMicroseconds: number
  readonly overlaps: number
}

export interface Line {
  readonly subject: string
  readonly waiters: number
  readonly workMs: number
  readonly startNs: number
  readonly endNs: number
}

export interface LineDone {
  /** For each waiter: when it asked, came in and went out, again and again. */
  readonly visits: readonly Float64Array[]
  readonly failures: number
  readonly cpuMicroseconds: number
}

export interface Rested {
  readonly cpuMsPerSecond: number
  readonly delayP99Ms: number
  readonly delayMaxMs: number
}

export interface Message<K extends Kind = Kind> {
  readonly kind: K
  readonly order: Orders[K]['order']
}
