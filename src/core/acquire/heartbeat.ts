import { LockError, StoreError } from '../../errors.ts'
import type { StoreClient } from '../calls/store-client.ts'
import type { TimerEntry, TimerHeap } from '../calls/timer-heap.ts'
import type { Runtime } from '../runtime.ts'
import type { RenewReply } from '../store.ts'
import type { Acquisition } from './acquisition.ts'

/** The most heartbeats that one call carries. */
const MOST_TOGETHER = 500
/** Heartbeats that are due within this part of a ttl travel together. */
const TOGETHER = 1 / 30
const SHORTEST_CALL_MS = 50
/** After a failure, in parts of a ttl: the first retry may save the position, later ones are half as frequent as heartbeats. */
const FIRST_RETRY = 1 / 10
const LONGEST_RETRY = 2 / 3

/** One call that carries heartbeats. */
export interface HeartbeatCall {
  readonly sentAtMs: number
  /** The number of sleeps of the machine by then. */
  readonly sleeps: number
  /** One for the whole call: after a failure its heartbeats stay together. */
  readonly jitter: number
}

/** Positions whose heartbeat is due together. */
export class HeartbeatBucket implements TimerEntry {
  dueMs = 0
  index = -1
  readonly acquisitions = new Set<Acquisition>()
  private readonly send: (bucket: HeartbeatBucket) => void

  constructor(send: (bucket: HeartbeatBucket) => void) {
    this.send = send
  }

  fire(): void {
    this.send(this)
  }
}

/** Keeps the queue positions of waiting claims alive: one call renews many, and makes no attempt. */
export class Heartbeats {
  private readonly client: StoreClient
  private readonly runtime: Runtime
  /** Shared with the engine's waiters: these timers keep the process alive. */
  private readonly timers: TimerHeap
  private readonly sleeps: () => number
  private readonly buckets = new Map<number, HeartbeatBucket>()

  constructor(client: StoreClient, runtime: Runtime, timers: TimerHeap, sleeps: () => number) {
    this.client = client
    this.runtime = runtime
    this.timers = timers
    this.sleeps = sleeps
  }

  /** The next heartbeat is due in a third of the ttl. */
  keep(acquisition: Acquisition): void {
    this.schedule(acquisition, (acquisition.claim.ttlMs / 3) * (0.9 + 0.1 * this.runtime.random()))
  }

  /** Schedules a retry after `failures` + 1 failed calls. */
  retry(acquisition: Acquisition, failures: number, { jitter }: HeartbeatCall): void {
    const part = Math.min(FIRST_RETRY * 2 ** failures, LONGEST_RETRY)
    this.schedule(acquisition, acquisition.claim.ttlMs * part * jitter)
  }

  drop(acquisition: Acquisition): void {
    const { bucket } = acquisition
    if (bucket === null) return
    acquisition.bucket = null
    bucket.acquisitions.delete(acquisition)
    if (bucket.acquisitions.size === 0) this.close(bucket)
  }

  private schedule(acquisition: Acquisition, delayMs: number): void {
    this.drop(acquisition)
    const stepMs = acquisition.claim.ttlMs * TOGETHER
    const dueMs = Math.floor((this.runtime.nowMs() + delayMs) / stepMs) * stepMs
    let bucket = this.buckets.get(dueMs)
    if (bucket === undefined) {
      bucket = new HeartbeatBucket((rung) => this.send(rung))
      this.buckets.set(dueMs, bucket)
      this.timers.set(bucket, dueMs)
    }
    bucket.acquisitions.add(acquisition)
    acquisition.bucket = bucket
  }

  private close(bucket: HeartbeatBucket): void {
    this.timers.remove(bucket)
    if (this.buckets.get(bucket.dueMs) === bucket) this.buckets.delete(bucket.dueMs)
  }

  private send(bucket: HeartbeatBucket): void {
    this.close(bucket)
    const due = [...bucket.acquisitions]
    for (const acquisition of due) acquisition.bucket = null
    const parts = this.client.byPart(due, ({ claim }) => claim)
    if (parts === null) this.sendTogether(due)
    else for (const part of parts) this.sendTogether(part.map((index) => due[index] as Acquisition))
  }

  private sendTogether(acquisitions: readonly Acquisition[]): void {
    for (let from = 0; from < acquisitions.length; from += MOST_TOGETHER)
      void this.renew(acquisitions.slice(from, from + MOST_TOGETHER))
  }

  private async renew(acquisitions: readonly Acquisition[]): Promise<void> {
    const call: HeartbeatCall = {
      sentAtMs: this.runtime.nowMs(),
      sleeps: this.sleeps(),
      jitter: 0.5 + this.runtime.random(),
    }
    const shortestTtlMs = Math.min(...acquisitions.map(({ claim }) => claim.ttlMs))
    let answers: readonly RenewReply[]
    try {
      const claims = acquisitions.map(({ claim }) => claim)
      answers = await this.client.renew(claims, Math.max(shortestTtlMs / 3, SHORTEST_CALL_MS))
    } catch (error) {
      const why = error instanceof LockError ? error : new StoreError(String(error), { cause: error })
      for (const acquisition of acquisitions) acquisition.heartbeatFailed(why, call)
      return
    }
    for (const [index, acquisition] of acquisitions.entries())
      acquisition.heartbeat(answers[index] ?? NO_ANSWER, call)
  }
}

const NO_ANSWER: RenewReply = {
  kind: 'unknown',
  error: new Error('the store left the claim without an answer'),
}
