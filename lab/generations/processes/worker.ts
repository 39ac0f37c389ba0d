import { setTimeout as sleep } from 'node:timers/promises'
import { childCommand, teller } from '../../../src/cli/child.ts'
import { messageOf } from '../../../src/cli/output.ts'
import { nowMs } from '../clock.ts'
import { fenced, handMade } from '../locks/index.ts'
import type { Held, Lock } from '../locks/lock.ts'
import { WireConnection } from '../wire/connection.ts'
import type { ActorOrder, FromActor, ToActor } from './messages.ts'

export const labWorker = childCommand<ActorOrder>('lab', (order) => new Seller(order).work())

const tell = teller<FromActor>()

/** One process that sells one unit: take the lock, read the stock, work, write the stock, give the lock back. */
class Seller {
  private readonly order: ActorOrder
  private readonly heard: ToActor[] = []
  private wake: (() => void) | null = null

  constructor(order: ActorOrder) {
    this.order = order
    process.on('message', (message: ToActor) => {
      this.heard.push(message)
      this.wake?.()
    })
  }

  async work(): Promise<void> {
    const { generation, url, key, ttlMs, waitMs } = this.order
    const connection = generation === 'fenced' ? null : await WireConnection.open(url)
    const lock: Lock =
      generation === 'fenced' || connection === null
        ? await fenced(url, this.order.name)
        : handMade(generation, connection, () => this.stand('seam'))
    try {
      tell({ kind: 'ready' })
      await this.told('start')
      tell({ kind: 'asked', atMs: nowMs() })
      const grant = await lock.acquire(key, ttlMs, waitMs)
      if (grant === null) return tell({ kind: 'gaveUp', atMs: nowMs() })
      const { held, answer } = grant
      tell({ kind: 'took', atMs: nowMs(), id: held.id, token: textOf(held.token), ...answer })
      await this.sell(held)
      tell({ kind: 'left', atMs: nowMs() })
      if (generation !== 'lookThenDelete') await this.stand('seam')
      await this.release(held)
    } finally {
      await lock.close()
      connection?.close()
    }
  }

  private async sell(held: Held): Promise<void> {
    const token = textOf(held.token)
    tell({ kind: 'read', token })
    const { left } = await this.told('stock')
    await sleep(this.order.workMs)
    const leaseMs = held.validForMs()
    const endsAtMs = nowMs() + (leaseMs ?? 0)
    await this.stand('work')
    // A careful program would stop here. This one goes on, to show what stops it.
    if (leaseMs !== null && held.validForMs() === 0) tell({ kind: 'lost', atMs: nowMs(), sinceMs: endsAtMs })
    await sleep(this.order.afterMs)
    tell({ kind: 'write', left: left - 1, token })
    await this.told('written')
  }

  /** A server that is gone by now is part of the story. */
  private async release(held: Held): Promise<void> {
    const answer = await held
      .release()
      .catch((error: unknown) => ({ command: 'release', reply: messageOf(error) }))
    tell({ kind: 'released', atMs: nowMs(), ...answer })
  }

  private async stand(where: ActorOrder['standAt']): Promise<void> {
    if (this.order.standAt !== where) return
    tell({ kind: 'stands', atMs: nowMs() })
    await this.told('go')
  }

  private async told<K extends ToActor['kind']>(kind: K): Promise<Extract<ToActor, { kind: K }>> {
    for (;;) {
      const at = this.heard.findIndex((message) => message.kind === kind)
      if (at !== -1) return this.heard.splice(at, 1)[0] as Extract<ToActor, { kind: K }>
      await new Promise<void>((resolve) => {
        this.wake = resolve
      })
    }
  }
}

function textOf(token: bigint | null): string | null {
  return token === null ? null : String(token)
}
