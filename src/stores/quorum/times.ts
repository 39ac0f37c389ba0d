import type { Runtime } from '../../core/runtime.ts'

/** What is known of the nodes' clocks, for proposals: server time plus monotonic time since, never our own wall clock. */
export class NodeTimes {
  private readonly runtime: Runtime
  private readonly offsetsUs: (number | undefined)[]
  private last = 0

  constructor(nodes: number, runtime: Runtime) {
    this.runtime = runtime
    this.offsetsUs = new Array(nodes).fill(undefined)
  }

  readonly note = (node: number, stampUs: number): void => {
    this.offsetsUs[node] = stampUs - this.nowUs()
  }

  /** A ballot above all before it. The middle one of the clocks counts, because one of them may be wrong; a small number if none is known. */
  propose(): number {
    const known = this.offsetsUs.filter((offsetUs) => offsetUs !== undefined).sort((a, b) => a - b)
    const middleUs = known[(known.length - 1) >> 1]
    this.last = Math.max(this.last + 1, middleUs === undefined ? 0 : middleUs + this.nowUs())
    return this.last
  }

  private nowUs(): number {
    return Math.round(this.runtime.nowMs() * 1000)
  }
}
