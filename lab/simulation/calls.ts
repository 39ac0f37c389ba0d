import type { Host } from './host.ts'
import type { Fail } from './violation.ts'
import type { World } from './world.ts'

/** How long after its own deadline a call may settle, while its host runs. */
const GRACE_MS = 250

interface Call {
  readonly host: Host
  readonly what: string
  readonly beganMs: number
  readonly beganUs: number
  readonly withinMs: number
  readonly pauses: number
}

/** Every call settles, and not much later than it said. */
export class Calls {
  private readonly world: World
  private readonly fail: Fail
  private readonly open = new Set<Call>()

  constructor(world: World, fail: Fail) {
    this.world = world
    this.fail = fail
  }

  begin(host: Host, what: string, withinMs: number): () => void {
    const { nowUs } = this.world
    const call: Call = {
      host,
      what,
      beganMs: host.clock.nowMs(),
      beganUs: nowUs,
      withinMs,
      pauses: host.pauses,
    }
    this.open.add(call)
    return () => this.settle(call)
  }

  /** At the end, when every call has had its time. */
  checkAll(): void {
    for (const { host, what, beganUs } of this.open) {
      if (host.alive)
        this.fail('not served', `${host.name}: ${what}, called at ${beganUs / 1000} ms, never settled`)
    }
  }

  private settle(call: Call): void {
    if (!this.open.delete(call)) return
    const { host, what, beganMs, withinMs, pauses } = call
    const tookMs = host.clock.nowMs() - beganMs
    if (host.pauses === pauses && tookMs > withinMs + GRACE_MS) {
      this.fail('settled late', `${host.name}: ${what} settled after ${tookMs} ms instead of ${withinMs} ms`)
    }
  }
}
