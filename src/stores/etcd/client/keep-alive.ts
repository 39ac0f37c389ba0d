import type { Runtime, Timer } from '../../../core/runtime.ts'
import { StoreError } from '../../../errors.ts'
import type { Outlet } from './channel.ts'
import type { Cluster } from './cluster.ts'
import { leaseRequest } from './requests.ts'
import { type LeaseAnswer, leaseResponse } from './responses.ts'

interface PendingKeepAlive {
  readonly id: bigint
  readonly timer: Timer
  readonly resolve: (answer: LeaseAnswer) => void
  readonly reject: (error: Error) => void
}

const LONGEST_WAIT_MS = 4000

/** The one stream that keeps all leases of a store alive. It opens on demand, and again after it breaks. */
export class KeepAliveStream {
  private readonly cluster: Cluster
  private readonly runtime: Runtime
  private readonly pending = new Set<PendingKeepAlive>()
  private outlet: Promise<Outlet> | null = null

  constructor(cluster: Cluster, runtime: Runtime) {
    this.cluster = cluster
    this.runtime = runtime
  }

  /** Rejects when the stream breaks or is silent for too long: the outcome is then unknown. */
  async keepAlive(id: bigint): Promise<LeaseAnswer> {
    const outlet = await this.open()
    return new Promise((resolve, reject) => {
      const silent = (): void => {
        this.pending.delete(pending)
        reject(new StoreError(`etcd did not keep a lease alive within ${LONGEST_WAIT_MS} ms`))
        // Other keep-alives may hang on the same stream: the next one opens a new stream.
        void this.outlet?.then((silent) => silent.close(), ignore)
      }
      const timer = this.runtime.setTimer(silent, LONGEST_WAIT_MS, true)
      const pending: PendingKeepAlive = { id, timer, resolve, reject }
      this.pending.add(pending)
      outlet.send(leaseRequest(id))
    })
  }

  private open(): Promise<Outlet> {
    if (this.outlet !== null) return this.outlet
    const opening = this.cluster.stream('/etcdserverpb.Lease/LeaseKeepAlive', {
      message: (body) => this.answered(leaseResponse(body)),
      end: (error) => {
        if (this.outlet === opening) this.ended(error)
      },
    })
    this.outlet = opening
    opening.catch((error) => {
      if (this.outlet === opening) this.ended(error)
    })
    return opening
  }

  /** A member answers in the order of the requests. */
  private answered(answer: LeaseAnswer): void {
    for (const pending of this.pending) {
      if (pending.id !== answer.id) continue
      this.pending.delete(pending)
      pending.timer.clear()
      pending.resolve(answer)
      return
    }
  }

  private ended(error: Error): void {
    this.outlet = null
    for (const { timer, reject } of this.pending) {
      timer.clear()
      reject(error)
    }
    this.pending.clear()
  }
}

function ignore(): void {}
