import type { Runtime } from '../../core/runtime.ts'
import type { Admin } from '../../core/store.ts'
import type { StoreError } from '../../errors.ts'
import { type EvictAnswer, isInUse, type KeyView, seqOf } from '../../model/index.ts'
import { nodeError, outageOf } from './failures.ts'
import { idsOf, merged } from './merge.ts'
import type { NodeView, QuorumNode } from './protocol.ts'
import { majorityOf } from './tally.ts'

/** Operators can wait longer for a slow node than a claim can. */
const ADMIN_MS = 1000

/** What a majority of the nodes shows together. */
export class QuorumAdmin implements Admin {
  private readonly nodes: readonly QuorumNode[]
  private readonly runtime: Runtime

  constructor(nodes: readonly QuorumNode[], runtime: Runtime) {
    this.nodes = nodes
    this.runtime = runtime
  }

  async read(key: string): Promise<KeyView> {
    return merged(await this.views(key), this.nodes.length)
  }

  /** What is held is at a majority, so as many nodes as make every majority show a member are enough to look through. */
  async *list(prefix: string): AsyncIterable<KeyView> {
    const enough = this.nodes.length - majorityOf(this.nodes.length) + 1
    const shown = new Set<string>()
    const failures: StoreError[] = []
    for (const node of this.nodes) {
      if (this.nodes.indexOf(node) - failures.length >= enough) return
      try {
        for await (const page of node.scan(prefix)) {
          const keys = page.filter((key) => !shown.has(key))
          for (const key of keys) shown.add(key)
          const all = keys.length === 0 ? [] : await this.ask((each) => each.read(keys))
          for (const [index] of keys.entries()) {
            const views = all.map((of) => of[index] as NodeView)
            const view = merged(views, this.nodes.length)
            if (isInUse(view)) yield view
          }
        }
      } catch (error) {
        failures.push(nodeError(node.name, error))
        if (this.nodes.length - failures.length < enough)
          throw outageOf(this.nodes.length - failures.length, enough, this.nodes.length, failures)
      }
    }
  }

  async evict(key: string, token: bigint | null, ask: boolean): Promise<EvictAnswer> {
    const views = await this.views(key)
    const found = idsOf(views, this.nodes.length).filter(
      ({ holder }) => token === null || (holder.token !== null && seqOf(holder.token) === seqOf(token)),
    )
    if (found.length === 0) return { kind: 'absent', labels: [] }
    const ids = found.map(({ id }) => id)
    await this.ask((node) => node.evict(key, ids, ask))
    return { kind: 'evicted', labels: found.map(({ holder }) => holder.label) }
  }

  private async views(key: string): Promise<readonly NodeView[]> {
    return (await this.ask((node) => node.read([key]))).map(([view]) => view as NodeView)
  }

  /** The answers of all nodes that answer in time; an error when they are no majority. */
  private async ask<A>(call: (node: QuorumNode) => Promise<A>): Promise<A[]> {
    const settled = await Promise.all(this.nodes.map((node) => this.bounded(node, call(node))))
    const answers = settled.filter((each) => 'answer' in each).map(({ answer }) => answer)
    const needed = majorityOf(this.nodes.length)
    if (answers.length >= needed) return answers
    const failures = settled.flatMap((each) => ('error' in each ? [each.error] : []))
    throw outageOf(answers.length, needed, this.nodes.length, failures)
  }

  private bounded<A>(node: QuorumNode, call: Promise<A>): Promise<{ answer: A } | { error: StoreError }> {
    return new Promise((resolve) => {
      const fail = (error: unknown): void => {
        timer.clear()
        resolve({ error: nodeError(node.name, error) })
      }
      const late = (): void => fail(new Error(`no answer within ${ADMIN_MS} ms`))
      const timer = this.runtime.setTimer(late, ADMIN_MS, false)
      call.then((answer) => {
        timer.clear()
        resolve({ answer })
      }, fail)
    })
  }
}
