import type { Runtime, Timer } from '../../core/runtime.ts'
import type { StoreNotice } from '../../core/store.ts'
import type { Claim } from '../../model/index.ts'
import type { NodeNotification } from './protocol.ts'
import { majorityOf } from './tally.ts'

/** A release reaches the nodes one after the other: a waiter that came at the first call would find the others busy. */
const COLLECT_MS = 20
/** After split votes a waiter that too few nodes call backs off. */
const LONGEST_COLLECT_MS = 500

/** Far more evictions than an operator starts at a time; beyond that the counts begin anew. */
const MOST_TOLD = 10_000

interface Waiter {
  readonly key: string
  readonly needed: number
  ticket: number
  /** Nodes that called since the claim last asked; null if none did. */
  callers: Set<number> | null
  asking: boolean
  /** Split votes in a row. */
  splits: number
  timer: Timer | null
}

/** Claims that wait for a call of the nodes, and the notifications of the nodes to holders. */
export class WaitingClaims {
  private readonly nodes: number
  private readonly runtime: Runtime
  private readonly tell: (notice: StoreNotice) => void
  private readonly waiters = new Map<string, Waiter>()
  /** Nodes that sent the same notification about a holder. */
  private readonly told = new Map<string, Set<number>>()

  constructor(nodes: number, runtime: Runtime, tell: (notice: StoreNotice) => void) {
    this.nodes = nodes
    this.runtime = runtime
    this.tell = tell
  }

  get size(): number {
    return this.waiters.size
  }

  /** A claim asks, for the first time or again; it keeps its first ticket unless the clocks of the nodes went back. */
  asks({ id, key, queue }: Claim, ticket: number, needed: number): number {
    if (!queue) return ticket
    let waiter = this.waiters.get(id)
    if (waiter === undefined) {
      waiter = { key, ticket, needed, callers: null, asking: true, splits: 0, timer: null }
      this.waiters.set(id, waiter)
    }
    waiter.ticket = Math.min(waiter.ticket, ticket)
    waiter.asking = true
    waiter.callers = null
    waiter.timer?.clear()
    waiter.timer = null
    return waiter.ticket
  }

  /** The ticket of a claim that waits; null for any other. */
  ticketOf(id: string): number | null {
    return this.waiters.get(id)?.ticket ?? null
  }

  /** Split votes of the claim in a row. */
  splits(id: string): number {
    return this.waiters.get(id)?.splits ?? 0
  }

  /** The claim was not granted and waits. It may have been called while the votes were counted. */
  waits(id: string, split: boolean): void {
    const waiter = this.waiters.get(id)
    if (waiter === undefined) return
    waiter.asking = false
    waiter.splits = split ? waiter.splits + 1 : 0
    if (waiter.callers !== null) this.collect(id, waiter)
  }

  forget(id: string): void {
    const waiter = this.waiters.get(id)
    if (waiter === undefined) return
    waiter.timer?.clear()
    this.waiters.delete(id)
  }

  hear(node: number, notification: NodeNotification): void {
    const { kind, id, key } = notification
    if (kind === 'free') this.called(node, id)
    else if (kind === 'contended') this.tell({ kind, id, key })
    else if (kind === 'revoked') {
      if (this.count(node, notification) === 1) this.tell({ kind, id, key })
      // One node alone ends no lease: so many must say so that the others are no majority.
    } else if (this.count(node, notification) === this.nodes - majorityOf(this.nodes) + 1)
      this.tell({ kind: 'lost', id, key, cause: 'evicted' })
  }

  /** Calls may have been missed: every waiter retries. */
  lookAll(): void {
    for (const [id, waiter] of this.waiters) if (!waiter.asking) this.look(id, waiter)
  }

  close(): void {
    for (const { timer } of this.waiters.values()) timer?.clear()
    this.waiters.clear()
    this.told.clear()
  }

  private called(node: number, id: string): void {
    const waiter = this.waiters.get(id)
    if (waiter === undefined) return
    waiter.callers ??= new Set()
    waiter.callers.add(node)
    if (!waiter.asking) this.collect(id, waiter)
  }

  private collect(id: string, waiter: Waiter): void {
    if (waiter.callers !== null && waiter.callers.size >= waiter.needed) {
      this.look(id, waiter)
      return
    }
    const spreadMs = Math.min(COLLECT_MS * 2 ** waiter.splits, LONGEST_COLLECT_MS)
    const delayMs = spreadMs * (0.5 + this.runtime.random() / 2)
    waiter.timer ??= this.runtime.setTimer(() => this.look(id, waiter), delayMs, true)
  }

  private look(id: string, waiter: Waiter): void {
    waiter.timer?.clear()
    waiter.timer = null
    waiter.callers = null
    this.tell({ kind: 'retry', id, key: waiter.key })
  }

  /** How many nodes sent this so far; a node that sends it again begins a new count. */
  private count(node: number, { kind, id }: NodeNotification): number {
    const name = `${kind} ${id}`
    let nodes = this.told.get(name)
    if (nodes === undefined || nodes.has(node)) {
      nodes = new Set()
      this.told.set(name, nodes)
    }
    nodes.add(node)
    if (nodes.size === this.nodes || this.told.size > MOST_TOLD) this.told.delete(name)
    return nodes.size
  }
}
