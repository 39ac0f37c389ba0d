import type { Runtime } from '../../core/runtime.ts'

/** A clock that is so much behind what it was before has been set; less than that is how they differ. */
const STEP_US = 1_000_000

/** What is known of the nodes' clocks, for proposals: server time plus monotonic time since, never our own wall clock. */
export class NodeTimes {
  private readonly runtime: Runtime
  private readonly offsetsUs: (number | undefined)[]
  /** The middle one of them, unless one was noted since. */
  private middle: number | null = null
  private noted = false
  /** The highest ballot so far. */
  lastBallot = 0
  private lastTicket = 0

  constructor(nodes: number, runtime: Runtime) {
    this.runtime = runtime
    this.offsetsUs = new Array(nodes).fill(undefined)
  }

  readonly note = (node: number, stampUs: number): void => {
    this.offsetsUs[node] = stampUs - this.nowUs()
    this.noted = true
  }

  /** A ballot above all before it; a small number as long as no clock is known. */
  propose(): number {
    this.lastBallot = Math.max(this.lastBallot + 1, this.middleUs() ?? 0)
    return this.lastBallot
  }

  /**
   * Who asked earlier goes first, at every node. Unlike a ballot it follows clocks that go back: else whoever was a
   * moment ahead of the others when that happened would stand behind all of them until the clocks have caught up.
   */
  ticket(ballot: number): number {
    const wanted = this.middleUs() ?? ballot
    const behindUs = this.lastTicket - wanted
    this.lastTicket = behindUs >= 0 && behindUs < STEP_US ? this.lastTicket + 1 : wanted
    return this.lastTicket
  }

  /** The middle one of the clocks counts, because one of them may be wrong. */
  private middleUs(): number | null {
    if (this.noted) {
      this.noted = false
      this.middle = middleOf(this.offsetsUs)
    }
    return this.middle === null ? null : this.middle + this.nowUs()
  }

  private nowUs(): number {
    return Math.round(this.runtime.nowMs() * 1000)
  }
}

/** The lower one of two in the middle; null when nothing is known. */
function middleOf(offsetsUs: readonly (number | undefined)[]): number | null {
  let known = 0
  for (const offsetUs of offsetsUs) if (offsetUs !== undefined) known++
  const middle = (known - 1) >> 1
  for (const candidateUs of offsetsUs) {
    if (candidateUs === undefined) continue
    let below = 0
    let same = 0
    for (const offsetUs of offsetsUs) {
      if (offsetUs === undefined) continue
      if (offsetUs < candidateUs) below++
      else if (offsetUs === candidateUs) same++
    }
    if (below <= middle && middle < below + same) return candidateUs
  }
  return null
}
