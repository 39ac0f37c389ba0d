import type { Runtime } from '../../../core/runtime.ts'
import { answeredWithin } from '../../../core/runtime.ts'
import { StoreError } from '../../../errors.ts'
import type { RedisClient } from '../clients/client.ts'
import { type Address, addressText, Node } from './node.ts'
import { SLOTS } from './slots.ts'

/** Opens connections to the servers of a cluster. */
export interface Dialer {
  readonly keyPrefix: string
  /** Servers to ask for the others. */
  seeds(): Promise<readonly Address[]>
  /** A connection to one server, closed with the store, that sends nothing twice. */
  open(address: Address): RedisClient
  /** The address of a server from here, if it has another one inside its own network. */
  reach(address: Address): Address
}

/** A live server answers sooner; after this the next one is asked. */
const ANSWER_MS = 500
/** The user's client may have to connect first. */
const SEEDS_MS = 5000

/** The known owners of the slots, and the connections to them. */
export class ClusterMap {
  private readonly dialer: Dialer
  private readonly runtime: Runtime
  private readonly onChange: () => void
  private readonly nodes = new Map<string, Node>()
  private readonly owners: (Node | undefined)[] = new Array(SLOTS).fill(undefined)
  private looking: Promise<void> | null = null
  private closed = false

  constructor(dialer: Dialer, runtime: Runtime, onChange: () => void) {
    this.dialer = dialer
    this.runtime = runtime
    this.onChange = onChange
  }

  ownerOf(slot: number): Node | undefined {
    return this.owners[slot]
  }

  masters(): readonly Node[] {
    return [...new Set(this.owners)].filter((node) => node !== undefined)
  }

  /** The server with that address inside the cluster. */
  at(address: Address): Node {
    return this.nodeAt(this.dialer.reach(address))
  }

  /** A server redirected a command; the rest of the map is probably stale, too. */
  moved(slot: number, from: Node, to: Node): void {
    this.owners[slot] = to
    this.lookSoon(from)
  }

  lookSoon(doubted: Node): void {
    this.look(doubted).catch(() => {})
  }

  /** Learns who has which slot from any server that answers, last from the one that is in doubt. */
  look(doubted?: Node): Promise<void> {
    this.looking ??= this.learn(doubted).finally(() => {
      this.looking = null
    })
    return this.looking
  }

  async close(): Promise<void> {
    this.closed = true
    await Promise.all([...this.nodes.values()].map((node) => node.close()))
  }

  private nodeAt(address: Address): Node {
    const name = addressText(address)
    const known = this.nodes.get(name)
    if (known !== undefined) return known
    if (this.closed) throw new StoreError('the Redis store is closed; nothing was sent')
    const node = new Node(address, (to) => this.dialer.open(to), this.runtime)
    this.nodes.set(name, node)
    return node
  }

  private async learn(doubted: Node | undefined): Promise<void> {
    let failure: unknown = null
    for (const node of await this.candidates(doubted)) {
      try {
        const answer = await answeredWithin(node.send('CLUSTER', ['SLOTS']), ANSWER_MS, this.runtime)
        if (this.closed) return
        this.take(rangesOf(answer, node.address))
        return
      } catch (error) {
        failure = error
      }
    }
    const why = failure instanceof Error ? failure.message : 'none is known'
    throw new StoreError(`no server of the Redis cluster can be reached: ${why}`, { cause: failure })
  }

  /** Known nodes in rotated order from a random start, so that a stale one is not always first; then the seeds. */
  private async candidates(doubted: Node | undefined): Promise<readonly Node[]> {
    const known = [...this.nodes.values()].filter((node) => node !== doubted)
    const first = Math.floor(this.runtime.random() * known.length)
    const seeds = known.length > 1 ? [] : await answeredWithin(this.dialer.seeds(), SEEDS_MS, this.runtime)
    const all = [...known.slice(first), ...known.slice(0, first), ...seeds.map((seed) => this.nodeAt(seed))]
    return [...new Set(doubted === undefined ? all : [...all.filter((node) => node !== doubted), doubted])]
  }

  private take(ranges: readonly SlotRange[]): void {
    if (ranges.length === 0) throw new StoreError('a server of the Redis cluster knows of no slots')
    for (const { from, to, master } of ranges) this.owners.fill(this.at(master), from, to + 1)
    const owners = new Set(this.owners)
    for (const [name, node] of this.nodes) {
      // A server that waits for its first slots owns nothing yet, but is asked all the same.
      if (owners.has(node) || !(node.idle || node.silent)) continue
      this.nodes.delete(name)
      void node.close()
    }
    this.onChange()
  }
}

interface SlotRange {
  readonly from: number
  readonly to: number
  readonly master: Address
}

/** Parses CLUSTER SLOTS. A server that does not know its own address leaves it empty: it is the one that was asked. */
function rangesOf(answer: unknown, asked: Address): SlotRange[] {
  if (!Array.isArray(answer)) return []
  return answer.map(([from, to, [host, port]]: [unknown, unknown, [unknown, unknown]]) => {
    const known = typeof host === 'string' && host !== '' && host !== '?'
    const master = { host: known ? host : asked.host, port: Number(port) }
    return { from: Number(from), to: Number(to), master }
  })
}
