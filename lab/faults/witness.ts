import { createServer, type Server, type Socket } from 'node:net'
import { eachLine } from '../../test/process/support/lines.ts'
import type { HistoryWriter } from './history.ts'
import { STOCK } from './settings.ts'

/** A worker's request to the resource; it shows the token of its lease. */
export interface Access {
  readonly number: number
  readonly op: string
  readonly key: string
  readonly token: string
  /** The value to write; absent for a read. */
  readonly value?: number
}

export interface AccessAnswer {
  readonly number: number
  readonly accepted: boolean
  readonly value: number
}

interface Resource {
  highest: bigint
  value: number
  written: number
}

/**
 * The resource that the locks protect, beside everything that fails. It knows nothing of locks but that a token must not be lower
 * than one it has seen, and writes down what it was asked.
 */
export class Witness {
  private readonly history: HistoryWriter
  private readonly fenced: boolean
  private readonly resources = new Map<string, Resource>()
  private readonly sockets = new Set<Socket>()
  private readonly server: Server

  constructor(history: HistoryWriter, fenced = true) {
    this.history = history
    this.fenced = fenced
    this.server = createServer((socket) => {
      this.sockets.add(socket)
      socket.on('close', () => this.sockets.delete(socket))
      eachLine(socket, (line) => {
        const answer = this.access(JSON.parse(line) as Access)
        if (socket.writable) socket.write(`${JSON.stringify(answer)}\n`)
      })
    })
  }

  listen(path: string): Promise<void> {
    return new Promise((resolve) => this.server.listen(path, resolve))
  }

  access({ number, op, key, token, value }: Access): AccessAnswer {
    const resource = this.resourceOf(key)
    const accepted = !this.fenced || BigInt(token) >= resource.highest
    this.history.write({ f: 'write', op, key, token, accepted })
    if (accepted) {
      resource.highest = BigInt(token)
      if (value !== undefined) {
        resource.value = value
        resource.written++
      }
    }
    return { number, accepted, value: resource.value }
  }

  /** Sales and what is left must make up what there was; tells where they do not. */
  audit(key: string): string | null {
    const { value, written } = this.resourceOf(key)
    if (written + value === STOCK) return null
    return `${key}: ${written} were sold and ${value} are left of ${STOCK}`
  }

  close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }

  private resourceOf(key: string): Resource {
    let resource = this.resources.get(key)
    if (resource === undefined) {
      resource = { highest: -1n, value: STOCK, written: 0 }
      this.resources.set(key, resource)
    }
    return resource
  }
}
