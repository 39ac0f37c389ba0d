import type { World } from './world.ts'

const MILLION = 1_000_000

/** A monotonic clock that runs a little too fast or too slow, read in whole milliseconds. */
export class SkewedClock {
  private readonly world: World
  private readonly rate: number
  private readonly offsetUs: number

  /** `skewPpm` parts per million faster than true time. */
  constructor(world: World, skewPpm: number, offsetUs: number) {
    this.world = world
    this.rate = MILLION + skewPpm
    this.offsetUs = offsetUs
  }

  nowUs(): number {
    return this.offsetUs + Math.floor((this.world.nowUs * this.rate) / MILLION)
  }

  nowMs(): number {
    return Math.floor(this.nowUs() / 1000)
  }

  /** The first moment of true time at which this clock shows `localMs`. */
  trueUsOf(localMs: number): number {
    return Math.ceil(((localMs * 1000 - this.offsetUs) * MILLION) / this.rate)
  }
}
