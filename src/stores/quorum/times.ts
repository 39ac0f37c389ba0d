import type { Runtime } from '../../core/runtime.ts'

/** A clock that fell back by more than this was set; smaller differences are normal between clocks. */
const STEP_US = 1_000_000

/** The clocks of the nodes, for proposals: server time plus monotonic time since, never our own wall clock. */
export class NodeTimes {
  private readonly runtime: Runtime
  private readonly offsetsUs: (number | undefined)[]
  /** The highest ballot so far. */
  lastBallot = 0
  private lastTicket = 0

  constructor(nodes: number, runtime: Runtime) {
    this.runtime = runtime
    this.offsetsUs = new Array(nodes).fill(undefined)
  }

  readonly note = (node: number, stampUs: number): void => {
    this.offsetsUs[node] = stampUs - this.nowUs()
  }

  /** A ballot above all before it; a small number as long as no clock is known. */
  propose(): number {
    this.lastBallot = Math.max(this.lastBallot + 1, this.middleUs() ?? 0)
    return this.lastBallot
  }

  /**
   * An earlier ticket goes first, at every node. Unlike a ballot it follows clocks that go back: else a process that was a moment
   * ahead of the others when that happened would stand behind them until the clocks have caught up.
   */
  ticket(ballot: number): number {
    const wanted = this.middleUs() ?? ballot
    const behindUs = this.lastTicket - wanted
    this.lastTicket = behindUs >= 0 && behindUs < STEP_US ? this.lastTicket + 1 : wanted
    return this.lastTicket
  }

  /** The median, because one clock may be wrong; the lower one of two in the middle, null when no clock is known. */
  private middleUs(): number | null {
    const known = this.offsetsUs.filter((offsetUs) => offsetUs !== undefined).sort((a, b) => a - b)
    const middle = known[(known.length - 1) >> 1]
    return middle === undefined ? null : middle + this.nowUs()
  }

  private nowUs(): number {
    return Math.round(this.runtime.nowMs() * 1000)
  }
}
