import type { Runtime } from '../../core/runtime.ts'
import { type StoreContext, withLeases } from './context.ts'
import { holdLeases, rebindAll } from './hold.ts'
import type { LocalClaim } from './local-claims.ts'

/** Each hold takes one of the 128 operations that a transaction may have; those inside of it are counted apart. */
const HOLDS_PER_CALL = 60
/** The other calls of a process need not wait until all of its holds have moved. */
const CALLS_AT_ONCE = 8

/** A hold that needs a lease for `ttlMs`. The promise says whether the hold is still there, or rejects when that is unknown. */
class Move {
  readonly local: LocalClaim
  ttlMs: number
  readonly isThere: Promise<boolean>
  resolve: (isThere: boolean) => void = () => {}
  reject: (error: unknown) => void = () => {}

  constructor(local: LocalClaim, ttlMs: number) {
    this.local = local
    this.ttlMs = ttlMs
    this.isThere = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }
}

/**
 * Holds on their way to another lease. When the outcome of one transaction is unknown, every hold of its lease has to move before
 * that lease ends: many travel in one transaction, and each hold is on its way once.
 */
export class Moves {
  private readonly runtime: Runtime
  private readonly send: (moves: readonly Move[]) => Promise<void>
  private readonly waiting = new Map<LocalClaim, Move>()
  private underWay = 0

  constructor(runtime: Runtime, send: (moves: readonly Move[]) => Promise<void>) {
    this.runtime = runtime
    this.send = send
  }

  /** Binds a hold to a lease that suits `ttlMs`; false when the hold is gone. Rejects when that is not known. */
  move(local: LocalClaim, ttlMs: number): Promise<boolean> {
    // The holds of one call travel together.
    if (this.waiting.size === 0) this.runtime.defer(() => this.goOn())
    const move = this.waiting.get(local) ?? new Move(local, ttlMs)
    move.ttlMs = Math.max(move.ttlMs, ttlMs)
    this.waiting.set(local, move)
    return move.isThere
  }

  private goOn(): void {
    while (this.underWay < CALLS_AT_ONCE && this.waiting.size > 0) {
      const moves: Move[] = []
      for (const [local, move] of this.waiting) {
        if (moves.length === HOLDS_PER_CALL) break
        this.waiting.delete(local)
        moves.push(move)
      }
      this.underWay++
      void this.send(moves).finally(() => {
        this.underWay--
        this.goOn()
      })
    }
  }
}

/** Tells each move what became of its hold; never rejects. */
export async function sendMoves(context: StoreContext, moves: readonly Move[]): Promise<void> {
  try {
    await withLeases(() => sendOnce(context, moves))
  } catch (error) {
    for (const { reject } of moves) reject(error)
  }
}

/** A lease that cannot be had concerns those holds alone that need it. */
async function sendOnce(context: StoreContext, moves: readonly Move[]): Promise<void> {
  const { claims, leases } = context
  const sent: Move[] = []
  // Since it was asked for, a hold may have gone, or may have moved by an earlier call.
  for (const move of moves) {
    if (!claims.has(move.local)) move.resolve(false)
    else if (leases.suits(move.local.lease, move.ttlMs)) move.resolve(true)
    else sent.push(move)
  }
  const found = await Promise.allSettled(
    sent.map(({ local, ttlMs }) => holdLeases(context, { ...local.claim, ttlMs })),
  )
  const ready = found.flatMap((each, index) => {
    const move = sent[index] as Move
    if (each.status === 'fulfilled') return { move, local: move.local, leases: each.value }
    move.reject(each.reason)
    return []
  })
  if (ready.length === 0) return
  const areThere = await rebindAll(context, ready)
  for (const [index, { move }] of ready.entries()) move.resolve(areThere[index] as boolean)
}
