import { type HolderView, type KeyView, type Mode, seqOf } from '../../model/index.ts'
import type { Graph, GraphHold, GraphLock, GraphQueued, GraphWait } from './graph.ts'
import { givenName, processOf, type WorldView } from './look.ts'
import type { Note } from './note.ts'

/** A shorter wait means nothing: it may be over before anybody could act on it. */
export const LONG_WAIT_MS = 1000

/** The known facts about a waiter. */
export interface SceneWaiter {
  readonly key: string
  readonly label: string
  readonly actor: string | null
  readonly waitedMs: number
  readonly holds: readonly string[]
  /** Null for an actor that is known only from a queue. */
  readonly noted: { readonly process: string; readonly id: number; readonly sinceMs: number } | null
  readonly abort: boolean
}

export interface WaitScene {
  readonly graph: Graph
  readonly waiters: ReadonlyMap<string, SceneWaiter>
  /** The age of each hold. */
  readonly heldMs: ReadonlyMap<string, number | null>
}

/** The abilities of a store that matter here, apart from its claims. */
export interface Sight {
  /** It serves its queues in order. */
  readonly ordered: boolean
  /** Processes can leave notes in it. */
  readonly notes: boolean
}

/** Combines the store's queues with the notes of processes. */
export function sceneOf(look: WorldView, sight: Sight): WaitScene {
  return new Composition(look, sight).compose()
}

class Composition {
  private readonly look: WorldView
  private readonly sight: Sight
  private readonly waits = new Map<string, GraphWait>()
  private readonly waiters = new Map<string, SceneWaiter>()
  private readonly heldMs = new Map<string, number | null>()
  /** The waits of actors that are known by name alone, each with a flag for a long one. */
  private readonly named = new Map<string, Map<string, boolean>>()

  constructor(look: WorldView, sight: Sight) {
    this.look = look
    this.sight = sight
  }

  compose(): WaitScene {
    const { views, notes } = this.look
    for (const note of notes.values()) this.addWaits(note)
    for (const view of views.values()) this.addNamed(view)
    const locks = new Map<string, GraphLock>()
    for (const view of views.values())
      locks.set(view.key, { holds: this.holdsOf(view), queue: this.sight.ordered ? this.lineOf(view) : [] })
    return { graph: { locks, waits: this.waits }, waiters: this.waiters, heldMs: this.heldMs }
  }

  private addWaits({ process, label, abort, waits, holds }: Note): void {
    for (const { id, key, mode, actor, sinceMs, waitedMs } of waits) {
      const node = `${process}:${id}`
      this.waits.set(node, { id: node, key, mode, positions: this.positionsOf(key, process, mode) })
      const held = holds.filter((hold) => hold.waits.includes(id)).map((hold) => hold.key)
      const noted = { process, id, sinceMs }
      this.waiters.set(node, { key, label, actor, waitedMs, holds: held, noted, abort })
    }
  }

  /** Exclusive claims of a process share a position, and depend on the holders alone. */
  private positionsOf(key: string, process: string, mode: Mode): number[] {
    if (mode.kind === 'exclusive' || !this.sight.ordered) return []
    const line = this.look.views.get(key)?.queue ?? []
    return line.flatMap((waiter, index) =>
      processOf(waiter.actor) === process && waiter.mode === mode.kind && waiter.weight === weightOf(mode)
        ? [index]
        : [],
    )
  }

  private addNamed({ key, limit, queue }: KeyView): void {
    for (const [index, waiter] of queue.entries()) {
      const { label, actor, mode, weight, waitedMs } = waiter
      const name = this.nameOf(label, actor)
      if (name === null) continue
      const node = `${name} ${key}`
      const known = this.named.get(name) ?? new Map<string, boolean>()
      this.named.set(name, known.set(node, waitedMs >= LONG_WAIT_MS))
      this.waits.set(node, { id: node, key, mode: modeOf(mode, weight, limit), positions: [index] })
      const holds = this.heldBy(name)
      const shown = givenName(actor)
      this.waiters.set(node, { key, label, actor: shown, waitedMs, holds, noted: null, abort: false })
    }
  }

  private heldBy(name: string): string[] {
    return [...this.look.views.values()]
      .filter(({ holders }) => holders.some(({ label, actor }) => this.nameOf(label, actor) === name))
      .map(({ key }) => key)
  }

  /** The actor, as far as its name tells; processes that leave notes know it exactly. */
  private nameOf(label: string, actor: string | null): string | null {
    if (actor === null) return null
    const process = processOf(actor)
    if (process !== null && (this.sight.notes || actor.startsWith('@') || this.look.notes.has(process)))
      return null
    return JSON.stringify([label, actor])
  }

  /** Claims of one named owner share a hold and its token. */
  private holdsOf({ key, holders, limit }: KeyView): GraphHold[] {
    const byToken = new Map<bigint | HolderView, HolderView[]>()
    for (const holder of holders)
      byToken.set(holder.token ?? holder, [...(byToken.get(holder.token ?? holder) ?? []), holder])
    return [...byToken.values()].map((members) => {
      const { mode, weight, token } = members[0] as HolderView
      const ids: string[] = []
      const claims = members.flatMap((member) => this.claimsOf(key, member, ids))
      const id = ids.length === 0 ? `${key} ${token}` : [...new Set(ids)].join(' ')
      if (!this.heldMs.has(id)) this.heldMs.set(id, members[0]?.heldMs ?? null)
      return { id, mode: modeOf(mode, weight, limit), claims }
    })
  }

  private claimsOf(key: string, { label, actor, token }: HolderView, ids: string[]): string[][] {
    const name = this.nameOf(label, actor)
    if (name !== null) {
      const waits = [...(this.named.get(name) ?? [])]
      return waits.every(([, isLong]) => isLong) ? [waits.map(([node]) => node)] : [[]]
    }
    const note = this.look.notes.get(processOf(actor) ?? '')
    if (note === undefined || token === null) return [[]]
    const holds = note.holds.filter((hold) => hold.key === key && seqOf(hold.token) === seqOf(token))
    for (const hold of holds) {
      const id = `${note.process}:${hold.id}:${hold.token}`
      ids.push(id)
      this.heldMs.set(id, hold.heldMs)
    }
    return holds.map((hold) => hold.waits.map((id) => `${note.process}:${id}`))
  }

  private lineOf({ key, limit, queue }: KeyView): GraphQueued[] {
    return queue.map(({ label, actor, mode, weight, waitedMs }, index) => {
      const own = [...this.waits.values()].filter(
        (wait) => wait.key === key && wait.positions.includes(index),
      )
      const one = own.length === 1 && own[0]?.positions.length === 1 ? own[0].id : null
      const id = one ?? `${JSON.stringify([label, actor, mode])} ${key}`
      if (!this.waiters.has(id)) {
        const waiter = { key, label, actor: givenName(actor), waitedMs, holds: [], noted: null, abort: false }
        this.waiters.set(id, waiter)
      }
      return { id, mode: modeOf(mode, weight, limit) }
    })
  }
}

function modeOf(kind: Mode['kind'], weight: number, limit: number | null): Mode {
  return kind === 'permits' ? { kind, limit: limit ?? weight, weight } : { kind }
}

function weightOf(mode: Mode): number {
  return mode.kind === 'permits' ? mode.weight : 1
}
