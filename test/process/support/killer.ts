import type { Crew } from './crew.ts'
import type { Witness } from './witness.ts'

const EVERY_MS = 200
/**
 * Once in so many kills the holder dies: by chance alone that would be one in sixty-four. A fast machine is done after some forty kills,
 * so the first of them comes early.
 */
const KILLS_PER_HOLDER = 10

/** Kills a worker every 200 ms, without warning, and hires another. */
export class Killer {
  readonly killed = new Set<string>()
  holdersKilled = 0
  private readonly crew: Crew
  private readonly witness: Witness
  private readonly goOn: () => boolean
  private holdersDue = 1
  private timer: NodeJS.Timeout | undefined

  constructor(crew: Crew, witness: Witness, goOn: () => boolean) {
    this.crew = crew
    this.witness = witness
    this.goOn = goOn
  }

  start(): void {
    this.timer = setInterval(() => this.strike(), EVERY_MS)
  }

  stop(): void {
    clearInterval(this.timer)
  }

  private strike(): void {
    const begun = this.witness.entersMs.length > this.crew.names.length
    const victim = begun && this.goOn() ? this.choose() : undefined
    if (victim === undefined) return
    if (victim === this.witness.holder) this.holdersKilled++
    this.crew.kill(victim)
    this.witness.killed(victim)
    this.killed.add(victim)
    this.crew.hire()
  }

  private choose(): string | undefined {
    const { holder } = this.witness
    if (holder !== undefined && this.killed.size >= this.holdersDue * KILLS_PER_HOLDER) {
      this.holdersDue++
      return holder
    }
    const { names } = this.crew
    return names[Math.floor(Math.random() * names.length)]
  }
}
