import type { Runtime } from '../../core/runtime.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { gatherAnswers } from './gather.ts'
import type { QuorumNode } from './protocol.ts'
import { majorityOf } from './tally.ts'

/** How long the first claims wait for the nodes. */
const BEGIN_MS = 1000

/** The identities of the nodes: a server that counts twice would make a false majority. */
export class Identities {
  private readonly nodes: readonly QuorumNode[]
  private readonly runtime: Runtime
  private readonly known: (string | null)[]
  private conflict: InvalidArgumentError | null = null
  private end: () => void = () => {}
  /** Null once the nodes were asked, or timed out. */
  beginning: Promise<void> | null

  constructor(nodes: readonly QuorumNode[], runtime: Runtime) {
    this.nodes = nodes
    this.runtime = runtime
    this.known = nodes.map(() => null)
    this.beginning = null
  }

  /** The first claims wait until most nodes are identified and subscribed, for a bounded time. */
  begin(listening: readonly Promise<unknown>[]): void {
    const closed = new Promise<void>((resolve) => {
      this.end = resolve
    })
    // Closing ends the wait with its timer.
    const asked = this.nodes.map((_, number) =>
      Promise.race([closed, Promise.all([listening[number], this.look(number)])]),
    )
    this.beginning = gatherAnswers(asked, majorityOf(asked.length), BEGIN_MS, this.runtime).then(() => {
      this.beginning = null
    })
  }

  async look(number: number): Promise<void> {
    const node = this.nodes[number] as QuorumNode
    try {
      this.known[number] = await node.identify()
    } catch {
      return
    }
    const name = this.known[number]
    const twin = this.known.findIndex((other, index) => index !== number && other === name)
    if (name === null || twin < 0) return
    const names = `${(this.nodes[twin] as QuorumNode).name} and ${node.name}`
    this.conflict = new InvalidArgumentError(
      'nodes',
      `must be independent servers, but ${names} are the same one`,
    )
  }

  /** Throws when two of the nodes were found to be the same server. */
  require(): void {
    if (this.conflict !== null) throw this.conflict
  }

  close(): void {
    this.end()
  }
}
