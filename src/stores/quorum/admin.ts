import type { Fact } from '../../core/facts.ts'
import type { Runtime } from '../../core/runtime.ts'
import type { Admin } from '../../core/store.ts'
import type { StoreError } from '../../errors.ts'
import { type EvictAnswer, isInUse, type KeyView, seqOf, strangeView } from '../../model/index.ts'
import { type CallResult, gatherAnswers, nodeError, outageOf } from './gather.ts'
import { idsOf, mergedView } from './merge.ts'
import type { NodeView, QuorumNode } from './protocol.ts'
import { majorityOf } from './tally.ts'

/** An operator can wait longer for a slow node than a claim can. */
const ADMIN_MS = 1000

/** The joint view of a majority of the nodes. */
export class QuorumAdmin implements Admin {
  private readonly nodes: readonly QuorumNode[]
  private readonly runtime: Runtime

  constructor(nodes: readonly QuorumNode[], runtime: Runtime) {
    this.nodes = nodes
    this.runtime = runtime
  }

  async read(key: string): Promise<KeyView> {
    return mergedView(await this.views(key), this.nodes.length)
  }

  /**
   * Every hold is at a majority, so it suffices to scan so many nodes that each majority has one of them. Nodes that do not answer at first
   * are left out, and so are nodes that fall silent on the way.
   */
  async *list(prefix: string, onPage?: () => void): AsyncIterable<KeyView> {
    const total = this.nodes.length
    const enough = total - majorityOf(total) + 1
    const shown = new Set<string>()
    let { present } = await this.ask(this.nodes, (node) => node.timeUs())
    const failures: StoreError[] = []
    let looked = 0
    for (const node of present) {
      if (looked === enough) return
      try {
        for await (const page of this.pages(node, prefix)) {
          onPage?.()
          const keys = page.filter((key) => !shown.has(key))
          if (keys.length === 0) continue
          const { answers, present: rest } = await this.ask(present, (each) => each.read(keys))
          present = rest
          for (const [index, key] of keys.entries()) {
            shown.add(key)
            const views = this.known(answers, index)
            const view = views instanceof Error ? strangeView(key) : mergedView(views, total)
            if (isInUse(view)) yield view
          }
        }
        looked++
      } catch (error) {
        if (!(error instanceof ScanError)) throw error
        failures.push(nodeError(node.name, error.cause))
      }
    }
    if (looked < enough) throw outageOf(looked, enough, total, failures)
  }

  async evict(key: string, token: bigint | null, ask: boolean): Promise<EvictAnswer> {
    const views = await this.views(key)
    const found = idsOf(views, this.nodes.length).filter(
      ({ holder }) => token === null || (holder.token !== null && seqOf(holder.token) === seqOf(token)),
    )
    if (found.length === 0) return { kind: 'absent', labels: [] }
    const ids = found.map(({ id }) => id)
    await this.ask(this.nodes, (node) => node.evict(key, ids, ask))
    return { kind: 'evicted', labels: found.map(({ holder }) => holder.label) }
  }

  /** The silent nodes; holds are visible without them. */
  async *inspect(): AsyncIterable<Fact> {
    const { failures } = await this.ask(this.nodes, (node) => node.timeUs())
    for (const { message } of failures) yield { kind: 'unseen', what: 'a node of the quorum', why: message }
    yield {
      kind: 'unseen',
      what: 'the servers, their clocks, foreign locks, orphans',
      why: 'the quorum store does not tell',
    }
  }

  private async views(key: string): Promise<readonly NodeView[]> {
    const { answers } = await this.ask(this.nodes, (node) => node.read([key]))
    const views = this.known(answers, 0)
    if (views instanceof Error) throw views
    return views
  }

  /** The views of one of the requested keys, or an error if too few nodes know its format. */
  private known(answers: readonly (readonly (NodeView | Error)[])[], index: number): NodeView[] | Error {
    const views: NodeView[] = []
    let refusal: Error | null = null
    for (const answer of answers) {
      const each = answer[index] as NodeView | Error
      if (each instanceof Error) refusal = each
      else views.push(each)
    }
    return refusal !== null && views.length < majorityOf(this.nodes.length) ? refusal : views
  }

  /** The answers in time, their nodes, and the failures of the others; throws without a majority of all. */
  private async ask<A>(
    nodes: readonly QuorumNode[],
    call: (node: QuorumNode) => Promise<A>,
  ): Promise<{ answers: A[]; present: QuorumNode[]; failures: StoreError[] }> {
    const needed = majorityOf(this.nodes.length)
    const outcomes = await gatherAnswers(nodes.map(call), needed, ADMIN_MS, this.runtime)
    const answers: A[] = []
    const present: QuorumNode[] = []
    const failures: StoreError[] = []
    for (const [index, outcome] of outcomes.entries()) {
      const node = nodes[index] as QuorumNode
      if ('error' in outcome) {
        failures.push(nodeError(node.name, outcome.error))
      } else {
        answers.push(outcome.answer)
        present.push(node)
      }
    }
    if (answers.length < needed) throw outageOf(answers.length, needed, this.nodes.length, failures)
    return { answers, present, failures }
  }

  /** The pages of one node's scan, each within a deadline. */
  private async *pages(node: QuorumNode, prefix: string): AsyncIterable<readonly string[]> {
    const pages = node.scan(prefix)[Symbol.asyncIterator]()
    for (;;) {
      const [outcome] = (await gatherAnswers([pages.next()], 1, ADMIN_MS, this.runtime)) as [
        CallResult<IteratorResult<readonly string[]>>,
      ]
      if ('error' in outcome) throw new ScanError(node.name, { cause: outcome.error })
      if (outcome.answer.done === true) return
      yield outcome.answer.value
    }
  }
}

/** The scan of one node failed; others may succeed. */
class ScanError extends Error {}
