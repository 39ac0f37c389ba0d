import type { Runtime, Timer } from '../../../core/runtime.ts'
import { StoreError } from '../../../errors.ts'
import type { Outlet } from './channel.ts'
import { leaseRequest } from './requests.ts'
import { type LeaseAnswer, leaseResponse } from './responses.ts'
import type { Cluster } from './cluster.ts'

interface Asked {
  readonly id: bigint
  readonly timer: Timer
  readonly resolve: (answer: LeaseAnswer) => void
  readonly reject: (error: Error) => void
}

const LONGEST_WAIT_MS = 4000

/** The one stream on which all leases of a store are kept alive. It is opened when it is needed, and again when it broke. */
export class KeepAliveStream {
  private readonly cluster: Cluster
  private readonly runtime: Runtime
  private readonly asked = new Set<Asked>()
  private outlet: Promise<Outlet> | null = null

  constructor(cluster: Cluster, runtime: Runtime) {
    this.cluster = cluster
    this.runtime = runtime
  }

  /** Rejects when the stream breaks or is silent for too long: whether the lease was kept alive is unknown then. */
  async keepAlive(id: bigint): Promise<LeaseAnswer> {
    const outlet = await this.open()
    return new Promise((resolve, reject) => {
      const silent = (): void => {
        this.asked.delete(asked)
        reject(new StoreError(`etcd did not keep a lease alive within ${LONGEST_WAIT_MS} ms`))
        // Others may hang on the same silence: the next one asks on a new stream.
        void this.outlet?.then((silent) => silent.close(), ignore)
      }
      const timer = this.runtime.setTimer(silent, LONGEST_WAIT_MS, true)
      const asked: Asked = { id, timer, resolve, reject }
      this.asked.add(asked)
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

  /** A member answers in the order in which it was asked. */
  private answered(answer: LeaseAnswer): void {
    for (const asked of this.asked) {
      if (asked.id !== answer.id) continue
      this.asked.delete(asked)
      asked.timer.clear()
      asked.resolve(answer)
      return
    }
  }

  private ended(error: Error): void {
    this.outlet = null
    for (const { timer, reject } of this.asked) {
      timer.clear()
      reject(error)
    }
    this.asked.clear()
  }
}

function ignore(): void {}
