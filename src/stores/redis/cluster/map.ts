import { answeredWithin } from '../../../core/calls/answered-within.ts'
import type { Runtime } from '../../../core/runtime.ts'
import { StoreError } from '../../../errors.ts'
import type { RedisClient } from '../clients/client.ts'
import { type Address, addressText, Node } from './node.ts'
import { SLOTS } from './slots.ts'

/** How the servers of a cluster are reached. */
export interface Dialer {
  readonly keyPrefix: string
  /** Servers to ask for the others. */
  seeds(): Promise<readonly Address[]>
  /** A connection to one server, closed with the store, that sends nothing twice. */
  open(address: Address): RedisClient
  /** Where a server is from here, if it has another address inside its own network. */
  reach(address: Address): Address
}

/** A server that is alive answers sooner; the next one is asked then. */
const ANSWER_MS = 500
/** A client that was brought may have to connect first. */
const SEEDS_MS = 5000

/** Who has which slot, as far as is known, and the connections to them. */
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

  /** The server with that address, as it is called inside the cluster. */
  at(address: Address): Node {
    return this.nodeAt(this.dialer.reach(address))
  }

  /** What a server told on the way; the rest of the map is probably old, too. */
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

  /** Those that are known, from a place of chance on, so that one with an old map is not asked for ever; then the first ones. */
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

/** The answer to CLUSTER SLOTS. A server that does not know its own address leaves it empty: it is the one that was asked. */
function rangesOf(answer: unknown, asked: Address): SlotRange[] {
  if (!Array.isArray(answer)) return []
  return answer.map(([from, to, [host, port]]: [unknown, unknown, [unknown, unknown]]) => {
    const known = typeof host === 'string' && host !== '' && host !== '?'
    const master = { host: known ? host : asked.host, port: Number(port) }
    return { from: Number(from), to: Number(to), master }
  })
}
