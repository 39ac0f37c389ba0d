import { Heap, type Scheduled } from './heap.ts'

/** One line of the timeline that is printed after a violation. */
export interface TraceLine {
  readonly atUs: number
  readonly who: string
  readonly text: string
}

/** A run that makes more events than this goes round in circles. */
const MOST_EVENTS = 250_000
const TURNS_PER_ROUND = 100

/**
 * Virtual time in whole microseconds and the one queue of everything that happens. An event runs, all promise jobs
 * that follow from it run, then comes the next. Whole numbers, because a rounded deadline can fire too early.
 */
export class World {
  nowUs = 0
  events = 0
  /** Set by the first violation; the run ends with the event that set it. */
  stopped = false
  readonly trace: TraceLine[] | null
  private readonly heap = new Heap()
  private sequence = 0
  private digestLow = 0x811c9dc5
  private digestHigh = 0x2545f491

  constructor(tracing: boolean) {
    this.trace = tracing ? [] : null
  }

  schedule(atUs: number, task: () => void, quiet: boolean): Scheduled {
    const event = {
      atUs: Math.max(atUs, this.nowUs),
      sequence: this.sequence++,
      task,
      quiet,
      cancelled: false,
    }
    this.heap.push(event)
    return event
  }

  /** Runs what happens up to and including `untilUs`, or until `done` says so. */
  run(untilUs: number, done: () => boolean = () => false): Promise<void> {
    return new Promise((resolve, reject) => {
      let ended = false
      const turn = (): void => {
        if (ended) return
        try {
          if (this.turn(untilUs, done)) return
          resolve()
        } catch (error) {
          reject(error as Error)
        }
        ended = true
      }
      // Promise jobs run between two callbacks of one round of the event loop, and a round costs more than a turn.
      const round = (): void => {
        if (ended) return
        for (let count = 0; count < TURNS_PER_ROUND; count++) setImmediate(turn)
        setImmediate(round)
      }
      setImmediate(round)
    })
  }

  note(who: string, text: string): void {
    this.trace?.push({ atUs: this.nowUs, who, text })
  }

  /** Adds a whole number to the digest: runs are the same when all that was mixed in, and its order, is. */
  mix(value: number): void {
    this.digestLow = Math.imul(this.digestLow ^ value, 0x01000193)
    this.digestHigh =
      Math.imul(this.digestHigh ^ Math.floor(value / 2 ** 20), 0x85ebca6b) ^ (this.digestLow >>> 7)
  }

  mixToken(token: bigint | null): void {
    this.mix(token === null ? 0 : Number(BigInt.asUintN(48, token)))
  }

  get digest(): string {
    return [this.digestHigh, this.digestLow]
      .map((half) => (half >>> 0).toString(16).padStart(8, '0'))
      .join('')
  }

  /** Runs events up to one that promise jobs may follow from; false when nothing is left to do. */
  private turn(untilUs: number, done: () => boolean): boolean {
    for (;;) {
      const next = this.heap.peek()
      if (this.stopped || done()) return false
      if (next === undefined || next.atUs > untilUs) {
        this.nowUs = untilUs
        return false
      }
      this.heap.pop()
      if (next.cancelled) continue
      this.nowUs = next.atUs
      if (++this.events > MOST_EVENTS) throw new RunawayError()
      next.task()
      if (!next.quiet) return true
    }
  }
}

export class RunawayError extends Error {
  constructor() {
    super(`more than ${MOST_EVENTS} events: something goes round in circles`)
  }
}
