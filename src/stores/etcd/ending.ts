import type { Timer } from '../../core/runtime.ts'
import type { BookKeeper, Known } from './book.ts'
import type { Desk } from './desk.ts'
import { present } from './guards.ts'
import type { Waiting } from './waiting.ts'
import type { Compare } from './wire/requests.ts'

/** Ends claims whose time is up although their process lives: what keeps their lease alive are other claims. */
export class Ending implements BookKeeper {
  private readonly desk: Desk
  private readonly waiting: Waiting
  /** Keys that are closed for a while yet. */
  private readonly closing = new Set<Timer>()

  constructor(desk: Desk, waiting: Waiting) {
    this.desk = desk
    this.waiting = waiting
  }

  /** Whether a key of ours is still closed by its lock delay. */
  get delaying(): boolean {
    return this.closing.size > 0
  }

  expire(known: Known): void {
    const { book } = this.desk
    const { key, id } = known.claim
    const ended = this.end(known).finally(() => {
      if (book.dying.get(id) === ended) book.dying.delete(id)
      this.desk.tell({ kind: 'lost', key, id, cause: 'expired' })
    })
    book.dying.set(id, ended)
  }

  tellHolder(known: Known): void {
    // A holder that is not told hands over for longer than it should, and learns it when it renews.
    this.waiting.tellHolder(known).catch(ignore)
  }

  close(): void {
    for (const timer of this.closing) timer.clear()
  }

  private async end(known: Known): Promise<void> {
    const { client, leases } = this.desk
    const { name, lease, delayName } = known
    // Another connection may have taken the claim over: then it is bound to another lease, and no business of ours.
    const ours: Compare = { target: 'lease', key: name, is: '=', value: lease.id }
    if (delayName !== null) this.openLater(known, delayName)
    try {
      const compare = [present(known), ours]
      await client.txn({ compare, success: [{ kind: 'delete', key: name }], failure: [] })
    } catch {
      // It ends with its lease, which nobody keeps alive any more.
      leases.retire(lease)
    }
  }

  private openLater({ claim, state }: Known, delayName: string): void {
    const { client, runtime } = this.desk
    const timer = runtime.setTimer(
      () => {
        this.closing.delete(timer)
        const open = { compare: [], success: [{ kind: 'delete' as const, key: delayName }], failure: [] }
        client.txn(open).catch(ignore)
      },
      state === 'held' ? claim.lockDelayMs : 0,
      true,
    )
    this.closing.add(timer)
  }
}

function ignore(): void {}
