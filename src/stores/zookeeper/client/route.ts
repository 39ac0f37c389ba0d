import type { Runtime } from '../../../core/runtime.ts'
import type { Server } from './connection.ts'

const SHORTEST_CONNECT_MS = 250
const LONGEST_CONNECT_MS = 2000
const FIRST_PAUSE_MS = 25
const LONGEST_PAUSE_MS = 500

/** The order and the pauses in which servers are tried. */
export class Route {
  private readonly runtime: Runtime
  private readonly servers: readonly Server[]
  private current = 0
  /** The number of failed attempts since the last success. */
  private failures = 0

  /** Shuffles the servers, so that the clients of an ensemble spread over them. */
  constructor(servers: readonly Server[], runtime: Runtime) {
    this.runtime = runtime
    this.servers = shuffled(servers, runtime)
  }

  get server(): Server {
    return this.servers[this.current] as Server
  }

  /** The timeout of one connection attempt: all servers must get one within the session's timeout. */
  connectMs(sessionTimeoutMs: number): number {
    const shareMs = sessionTimeoutMs === 0 ? LONGEST_CONNECT_MS : sessionTimeoutMs / this.servers.length
    return Math.min(Math.max(shareMs, SHORTEST_CONNECT_MS), LONGEST_CONNECT_MS)
  }

  arrive(): void {
    this.failures = 0
  }

  /** Leaves a server whose connection broke; returns the pause before the next attempt. */
  leave(): number {
    this.current = (this.current + 1) % this.servers.length
    return 0
  }

  /** Leaves a server that could not be reached; pauses after each round over all servers. */
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
