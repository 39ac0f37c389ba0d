import type { Runtime } from '../../../core/runtime.ts'
import type { WireError } from './errors.ts'

interface Waiter {
  readonly resolve: () => void
  readonly reject: (error: WireError) => void
}

/** Those who wait for a connection, each for a while. */
export class Waiters {
  private readonly runtime: Runtime
  private readonly waiting = new Set<Waiter>()

  constructor(runtime: Runtime) {
    this.runtime = runtime
  }

  wait(patienceMs: number, errorOf: () => WireError): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        timer.clear()
        this.waiting.delete(waiter)
      }
      const waiter: Waiter = {
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
      // In two steps: after a stall of this process, the second one lets it read the answers that are there.
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
