import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** The network between a primary and its replica: a relay that can stop to deliver, as a slow or cut line does. */
export class ReplicationLink {
  private readonly server: Server
  private readonly sockets = new Set<Socket>()
  private stalled = false

  private constructor(target: number) {
    this.server = createServer((near) => {
      const far = connect(target, '127.0.0.1')
      near.on('data', (chunk) => far.write(chunk))
      // Reads the primary's words and drops them, so that the replica learns of nothing.
      far.on('data', (chunk) => this.stalled || near.write(chunk))
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.sockets.add(one)
        one.on('error', () => other.destroy())
        one.on('close', () => {
          this.sockets.delete(one)
          other.destroy()
        })
      }
    })
  }

  static async to(target: number): Promise<ReplicationLink> {
    const link = new ReplicationLink(target)
    link.server.listen(0, '127.0.0.1')
    await once(link.server, 'listening')
    return link
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  stall(): void {
    this.stalled = true
  }

  close(): void {
    this.server.close()
    for (const socket of this.sockets) socket.destroy()
  }
}
