import type { World } from './world.ts'

const MILLION = 1_000_000

/** A monotonic clock that runs a little too fast or too slow, read in whole milliseconds. */
export class SkewedClock {
  private readonly world: World
  private readonly rate: number
  private readonly offsetUs: number
  /** True time that this clock did not count, because its machine slept. */
  sleptUs = 0
  private asleepSinceUs: number | null = null

  /** `skewPpm` parts per million faster than true time. */
  constructor(world: World, skewPpm: number, offsetUs: number) {
    this.world = world
    this.rate = MILLION + skewPpm
    this.offsetUs = offsetUs
  }

  nowUs(): number {
    const awakeUs = (this.asleepSinceUs ?? this.world.nowUs) - this.sleptUs
    return this.offsetUs + Math.floor((awakeUs * this.rate) / MILLION)
  }

  get asleep(): boolean {
    return this.asleepSinceUs !== null
  }

  fallAsleep(): void {
    this.asleepSinceUs = this.world.nowUs
  }

  wakeUp(): void {
    if (this.asleepSinceUs !== null) this.sleptUs += this.world.nowUs - this.asleepSinceUs
    this.asleepSinceUs = null
  }

  nowMs(): number {
    return Math.floor(this.nowUs() / 1000)
  }

  /** The first moment of true time at which this clock shows `localMs`. */
  trueUsOf(localMs: number): number {
    return Math.ceil(((localMs * 1000 - this.offsetUs) * MILLION) / this.rate) + this.sleptUs
  }
}
