import type { Runtime } from '../../../core/runtime.ts'
import type { WireError } from './errors.ts'

interface ConnectionWaiter {
  readonly resolve: () => void
  readonly reject: (error: WireError) => void
}

/** Calls that wait for a connection, each for a limited time. */
export class ConnectionWaiters {
  private readonly runtime: Runtime
  private readonly waiting = new Set<ConnectionWaiter>()

  constructor(runtime: Runtime) {
    this.runtime = runtime
  }

  wait(patienceMs: number, errorOf: () => WireError): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        timer.clear()
        this.waiting.delete(waiter)
      }
      const waiter: ConnectionWaiter = {
        resolve: () => {
          leave()
          resolve()
        },
        reject: (error) => {
          leave()
          reject(error)
        },
      }
      const giveUp = () => waiter.reject(errorOf())
      // Two steps: after a stall of this process, the second step lets it first read answers that have arrived.
      let timer = this.runtime.setTimer(
        () => {
          timer = this.runtime.setTimer(giveUp, patienceMs / 2, false)
        },
        patienceMs / 2,
        false,
      )
      this.waiting.add(waiter)
    })
  }

  resolve(): void {
    for (const waiter of [...this.waiting]) waiter.resolve()
  }

  reject(error: WireError): void {
    for (const waiter of [...this.waiting]) waiter.reject(error)
  }
}
