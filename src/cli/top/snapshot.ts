import type { KeyView, Locks } from '../../index.ts'

/** The data of one screen. */
export interface TopSnapshot {
  readonly at: string
  readonly held: number
  readonly waiting: number
  /** Grants seen per second since the last look: a lower bound, as short ones pass between two looks. */
  readonly grantsPerSecond: number | null
  readonly keys: readonly KeyView[]
}

/** Keeps the data of the last look, to find the changes. */
export class Looker {
  private readonly locks: Locks
  private readonly prefix: string
  private readonly most: number
  private tokens = new Map<string, bigint | null>()
  private atMs: number | null = null

  constructor(locks: Locks, prefix: string, most: number) {
    this.locks = locks
    this.prefix = prefix
    this.most = most
  }

  async look(): Promise<TopSnapshot> {
    const nowMs = performance.now()
    const tokens = new Map<string, bigint | null>()
    let top: KeyView[] = []
    let held = 0
    let waiting = 0
    let grants = 0
    for await (const view of this.locks.list({ prefix: this.prefix })) {
      held += view.holders.length
      waiting += view.queue.length
      if (view.holders.length > 0 && this.tokens.get(view.key) !== view.token) grants++
      tokens.set(view.key, view.token)
      top.push(view)
      // A store may have very many keys; the ones at the bottom are never shown.
      if (top.length >= this.most * 4) top = top.sort(byWeight).slice(0, this.most)
    }
    const grantsPerSecond = this.atMs === null ? null : grants / ((nowMs - this.atMs) / 1000)
    this.tokens = tokens
    this.atMs = nowMs
    const keys = top.sort(byWeight).slice(0, this.most)
    return { at: new Date().toISOString(), held, waiting, grantsPerSecond, keys }
  }
}

/** The longest queue first, then the longest hold. */
function byWeight(one: KeyView, other: KeyView): number {
  return other.queue.length - one.queue.length || longest(other) - longest(one)
}

function longest({ holders }: KeyView): number {
  return Math.max(0, ...holders.map(({ heldMs }) => heldMs ?? 0))
}
