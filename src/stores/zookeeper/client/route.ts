import type { Runtime } from '../../../core/runtime.ts'
import type { Server } from './connection.ts'

const SHORTEST_CONNECT_MS = 250
const LONGEST_CONNECT_MS = 2000
const FIRST_PAUSE_MS = 25
const LONGEST_PAUSE_MS = 500

/** Which server is tried next, and when. */
export class Route {
  private readonly runtime: Runtime
  private readonly servers: readonly Server[]
  private place = 0
  /** How many were tried in vain since the last that answered. */
  private failures = 0

  /** In an order of its own, so that the clients of an ensemble do not all come to its first server. */
  constructor(servers: readonly Server[], runtime: Runtime) {
    this.runtime = runtime
    this.servers = shuffled(servers, runtime)
  }

  get server(): Server {
    return this.servers[this.place] as Server
  }

  /** How long a server may take to let us in: within a session, all of them must have their turn. */
  connectMs(sessionTimeoutMs: number): number {
    const shareMs = sessionTimeoutMs === 0 ? LONGEST_CONNECT_MS : sessionTimeoutMs / this.servers.length
    return Math.min(Math.max(shareMs, SHORTEST_CONNECT_MS), LONGEST_CONNECT_MS)
  }

  arrive(): void {
    this.failures = 0
  }

  /** Away from a server that let us down, at once. */
  leave(): number {
    this.place = (this.place + 1) % this.servers.length
    return 0
  }

  /** The next server at once; a pause when none of them let us in. */
  fail(): number {
    this.leave()
    this.failures++
    if (this.failures % this.servers.length !== 0) return 0
    const rounds = this.failures / this.servers.length
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (rounds - 1), LONGEST_PAUSE_MS)
    return pauseMs * (0.5 + this.runtime.random())
  }
}

function shuffled(servers: readonly Server[], runtime: Runtime): readonly Server[] {
  const order = [...servers]
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(runtime.random() * (last + 1))
    const server = order[last] as Server
    order[last] = order[other] as Server
    order[other] = server
  }
  return order
}
