import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { connect, LeaseLostError, type Locks, StaleTokenError } from '../../index.ts'
import { childCommand, teller } from '../child.ts'
import { type FromWorker, SALE, type ToWorker, type WorkerStart } from './messages.ts'
import { nextUnit, StockFile, withoutOne } from './stock.ts'

export const demoWorker = childCommand<WorkerStart>('demo', (order) => new Seller(order).work())

const tell = teller<FromWorker>()

/** One process that serves its share of the buyers, one after the other. */
class Seller {
  private readonly order: WorkerStart
  private readonly stock: StockFile
  private trapped = false
  private readonly waiting = new Map<ToWorker['kind'], () => void>()

  constructor(order: WorkerStart) {
    this.order = order
    this.stock = new StockFile(order.folder)
    process.on('message', (message: ToWorker) => this.receive(message))
  }

  async work(): Promise<void> {
    const locks = this.order.guarded
      ? await connect(pathToFileURL(join(this.order.folder, 'locks.db')).href)
      : null
    tell({ kind: 'ready' })
    await this.told('open')
    let turnedAway = 0
    for (let buyer = 0; buyer < this.order.buyers; buyer++) {
      const sold = locks === null ? await this.sellHastily() : await this.sellGuarded(locks)
      if (!sold) turnedAway++
    }
    tell({ kind: 'turnedAway', count: turnedAway })
    await locks?.close()
  }

  /** Read, think, write: the pattern of every check-then-act without a lock. */
  private async sellHastily(): Promise<boolean> {
    const fromMs = Date.now()
    const stock = this.stock.read()
    if (stock.left <= 0) return false
    const unit = nextUnit(stock, SALE.units)
    await payment()
    this.stock.write(withoutOne(stock, unit))
    this.sold(unit, null, fromMs)
    return true
  }

  private async sellGuarded(locks: Locks): Promise<boolean> {
    for (;;) {
      // A look at the stock needs no lock: empty stays empty.
      if (this.stock.read().left === 0) return false
      try {
        return await this.sellOne(locks)
      } catch (error) {
        // The sale did not happen, or the lock was lost after it was counted: the buyer tries again.
        if (!(error instanceof StaleTokenError || error instanceof LeaseLostError)) throw error
        if (error instanceof LeaseLostError && error.result === true) return true
      }
    }
  }

  private sellOne(locks: Locks): Promise<boolean> {
    return locks.using('sale', { ttl: SALE.ttlMs, wait: '60s' }, async ({ token }) => {
      const fromMs = Date.now()
      const stock = this.stock.readFenced(token!)
      if (stock.left === 0) return false
      const unit = nextUnit(stock, SALE.units)
      await payment()
      await this.standStillIfTrapped(unit, token!)
      try {
        this.stock.writeFenced(token!, withoutOne(stock, unit))
      } catch (error) {
        if (error instanceof StaleTokenError) this.refused(unit, token!)
        throw error
      }
      this.sold(unit, token, fromMs)
      return true
    })
  }

  private async standStillIfTrapped(unit: number, token: bigint): Promise<void> {
    if (!this.trapped) return
    this.trapped = false
    tell({ kind: 'inside', unit, token: String(token) })
    await this.told('go')
  }

  private sold(unit: number, token: bigint | null, fromMs: number): void {
    const { worker } = this.order
    tell({
      kind: 'sold',
      worker,
      unit,
      token: token === null ? null : String(token),
      fromMs,
      toMs: Date.now(),
    })
  }

  private refused(unit: number, token: bigint): void {
    const { fence } = this.stock.read()
    tell({ kind: 'refused', worker: this.order.worker, unit, token: String(token), fence, atMs: Date.now() })
  }

  private receive(message: ToWorker): void {
    if (message.kind === 'trap') this.trapped = true
    this.waiting.get(message.kind)?.()
  }

  private told(kind: ToWorker['kind']): Promise<void> {
    return new Promise((resolve) => this.waiting.set(kind, resolve))
  }
}

function payment(): Promise<void> {
  return sleep(SALE.shortestPaymentMs + Math.random() * SALE.paymentSpreadMs)
}
