import { overlapsOf, robbedBy } from '../processes/evidence.ts'
import type { ActorEvent, Kind, Overlap } from '../processes/history.ts'
import type { Trial } from '../processes/scene.ts'

/** The outcome of a story, for the claims about it. */
export class StoryFacts {
  readonly overlaps: readonly Overlap[]
  /** How long the key would have lived on at the end, as `PTTL` says: -1 for ever, -2 not at all. */
  readonly lifeLeftMs: number
  private readonly scene: Trial

  constructor(scene: Trial, lifeLeftMs: number) {
    this.scene = scene
    this.lifeLeftMs = lifeLeftMs
    this.overlaps = overlapsOf(scene.history, scene.endedAtMs)
  }

  did(actor: string, kind: Kind): boolean {
    return this.event(actor, kind) !== undefined
  }

  happened(kind: Kind): boolean {
    return this.scene.history.events.some((event) => event.kind === kind)
  }

  event(actor: string, kind: Kind): ActorEvent | undefined {
    return this.scene.history.find(actor, kind)
  }

  /** True if both were at work inside at the same time. */
  together(one: string, other: string): boolean {
    return this.overlaps.some(({ actors }) => actors.includes(one) && actors.includes(other))
  }

  robbed(thief: string): string | null {
    return robbedBy(this.scene.history, thief)
  }

  get sold(): number {
    return this.scene.warehouse.sold
  }

  /** How many units were sold that the stock still has. */
  get soldTooMany(): number {
    const { begunWith, left, sold } = this.scene.warehouse
    return sold - (begunWith - left)
  }

  get data(): object {
    const { begunWith, sold, left, refused } = this.scene.warehouse
    const overlapMs = this.overlaps.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0)
    return { stock: { begunWith, sold, left, refused }, overlapMs: Math.round(overlapMs) }
  }
}
