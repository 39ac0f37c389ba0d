import type { Runtime } from '../../../core/runtime.ts'
import { answeredWithin, LateError } from '../../../core/runtime.ts'
import type { WireError } from './errors.ts'

/** Calls that wait for the next connection, each for a limited time. */
export class ConnectionWaiters {
  private readonly runtime: Runtime
  private connected: Promise<void> | null = null
  private settle: { readonly resolve: () => void; readonly reject: (error: WireError) => void } | null = null

  constructor(runtime: Runtime) {
    this.runtime = runtime
  }

  async wait(patienceMs: number, errorOf: () => WireError): Promise<void> {
    this.connected ??= new Promise((resolve, reject) => {
      this.settle = { resolve, reject }
    })
    const { connected } = this
    const late = (error: unknown): Promise<void> => {
      if (!(error instanceof LateError)) throw error
      return answeredWithin(connected, patienceMs / 2, this.runtime)
    }
    // Two steps: after a stall of this process, the second step lets it first read answers that have arrived.
    try {
      await answeredWithin(connected, patienceMs / 2, this.runtime).catch(late)
    } catch (error) {
      throw error instanceof LateError ? errorOf() : error
    }
  }

  resolve(): void {
    this.settle?.resolve()
    this.connected = null
  }

  reject(error: WireError): void {
    this.settle?.reject(error)
    this.connected = null
  }
}
