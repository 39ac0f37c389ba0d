import { Redis } from 'ioredis'
import { startProxy, type TcpProxy } from '../../../scripts/servers/proxy.ts'
import type { Bounds } from '../check/index.ts'
import { HistoryWriter, type Mode } from '../history.ts'
import { type Held, LockClient } from '../lock-client.ts'
import { Witness } from '../witness.ts'

/** Everything is short here, because the scenes are known. */
export const QUICK: Bounds = { ttlMs: 300, recoverySlackMs: 400, wakeUpMs: 500, cutOffMs: 800 }

/** Where one control plays: real servers, and a history of its own that the same checks read. */
export class Stage {
  readonly key: string
  readonly history: HistoryWriter
  private readonly folder: string
  private readonly port: number
  private readonly clients: Redis[] = []
  private readonly proxies: TcpProxy[] = []
  private faults = 0

  constructor(key: string, folder: string, port: number) {
    this.key = key
    this.folder = folder
    this.port = port
    this.history = new HistoryWriter(folder, 'stage')
  }

  /** A connection that is open. */
  async redis(port = this.port): Promise<Redis> {
    const client = new Redis(port)
    client.on('error', () => {})
    this.clients.push(client)
    await client.ping()
    return client
  }

  async proxy(): Promise<TcpProxy> {
    const proxy = await startProxy(this.port)
    this.proxies.push(proxy)
    return proxy
  }

  witness(fenced: boolean): Witness {
    return new Witness(this.history, fenced)
  }

  actor(name: string): Actor {
    return new Actor(`${name}.1`, this)
  }

  /** The history of one of those who play. */
  bookOf(name: string): HistoryWriter {
    return new HistoryWriter(this.folder, name)
  }

  /** Tells of a fault that is over at once. */
  fault(kind: string, target: string): void {
    const id = ++this.faults
    this.history.write({ f: 'fault', id, kind, target })
    this.history.write({ f: 'healed', id })
  }

  /** The store names this holder when it is asked. */
  names(label: string, token: string, heldMs: number): void {
    this.history.write({ f: 'holder', key: this.key, label, token, heldMs })
  }

  /** Writes down what is left in the server. */
  async sweep(): Promise<void> {
    for (const what of await (await this.redis()).keys(`*${this.key}*`))
      this.history.write({ f: 'left', what })
  }

  async close(): Promise<void> {
    // A subscriber or a reply that never came must not hold up the end.
    for (const client of this.clients) client.disconnect()
    await Promise.all(this.proxies.map((proxy) => proxy.close()))
    this.history.close()
  }
}

/** Somebody who takes the key of a scene, by whatever lock. */
export class Actor {
  readonly name: string
  readonly client: LockClient
  private readonly stage: Stage

  constructor(name: string, stage: Stage) {
    this.name = name
    this.stage = stage
    this.client = new LockClient(name, stage.bookOf(name))
  }

  visit(
    acquire: () => Promise<Held | null>,
    work: (op: string, token: string) => Promise<void>,
    { mode = 'exclusive', waitMs = 2000 }: { mode?: Mode; waitMs?: number } = {},
  ): Promise<boolean> {
    const claim = { key: this.stage.key, mode, waitMs, handover: false }
    return this.client.visit(claim, acquire, async (stay) => {
      // Asked now and then, as somebody does who watches over its lease.
      const watch = setInterval(() => void stay.forMs(0), 20).unref()
      await work(stay.op, stay.token)
      clearInterval(watch)
    })
  }

  /** The same for somebody who is inside when others begin: `inside` settles when it is. */
  enter(
    acquire: () => Promise<Held | null>,
    work: (op: string, token: string) => Promise<void>,
  ): { readonly inside: Promise<void>; readonly left: Promise<boolean> } {
    let left: Promise<boolean> = Promise.resolve(false)
    const inside = new Promise<void>((resolve) => {
      left = this.visit(acquire, (op, token) => {
        resolve()
        return work(op, token)
      })
    })
    return { inside, left }
  }

  /** It is in the line now. */
  waits(): void {
    this.client.waiting(this.stage.key)
  }
}
