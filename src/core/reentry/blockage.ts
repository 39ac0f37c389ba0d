import type { Mode } from '../../model/index.ts'
import type { Waiter } from '../acquire/waiter.ts'
import type { StoreLease } from '../lease/lease.ts'
import type { Runtime } from '../runtime.ts'
import type { ActorFrame } from './actors.ts'

/** A wait in this process of an actor that holds something. */
export interface BlockedWait {
  readonly id: number
  readonly storeKey: string
  readonly mode: Mode
  readonly actor: string
  readonly sinceMs: number
  readonly waitedMs: number
}

/** A hold that is released only after all these waits, as far as this process can tell. */
export interface BlockedHold {
  readonly id: number
  readonly storeKey: string
  readonly token: bigint | null
  readonly heldMs: number
  readonly waits: readonly number[]
}

export interface Blockage {
  readonly waits: readonly BlockedWait[]
  readonly holds: readonly BlockedHold[]
}

const NONE: Blockage = { waits: [], holds: [] }

type Waiting = ActorFrame & { waiter: Waiter }
type Holding = ActorFrame & { lease: StoreLease }

/**
 * The holds with nothing under way but waits. A hold without a wait, with a short wait, or with running work inside will be
 * released by itself: it blocks no waiter for ever.
 */
export function blockageOf(live: ReadonlySet<ActorFrame>, longerThanMs: number, runtime: Runtime): Blockage {
  const nowMs = runtime.nowMs()
  const isLong = ({ waiter }: Waiting): boolean => nowMs - waiter.sinceMs >= longerThanMs
  if (![...live].some((each) => waits(each) && isLong(each))) return NONE
  const inner = innerOf(live)
  const known = new Map<Holding, ReadonlySet<Waiting> | null>()

  const waitsUnder = (hold: Holding): ReadonlySet<Waiting> | null => {
    const seen = known.get(hold)
    if (seen !== undefined) return seen
    const found = new Set<Waiting>()
    let goesOn = false
    for (const each of inner.get(hold) ?? []) {
      const under = waits(each) ? (isLong(each) ? new Set([each]) : null) : waitsUnder(each as Holding)
      if (under === null) goesOn = true
      else for (const wait of under) found.add(wait)
    }
    const result = goesOn || found.size === 0 ? null : found
    known.set(hold, result)
    return result
  }

  const waiting = new Set<Waiting>()
  const holds: BlockedHold[] = []
  for (const hold of live) {
    if (!isHeld(hold)) continue
    const under = waitsUnder(hold)
    if (under === null) continue
    for (const wait of under) waiting.add(wait)
    const { id, storeKey, lease } = hold
    const heldMs = nowMs - lease.grantedAtMs
    holds.push({ id, storeKey, token: lease.token, heldMs, waits: [...under].map((wait) => wait.id) })
  }
  return { waits: [...waiting].map((wait) => blockedWait(wait, nowMs, runtime)), holds }
}

/** The requests under way inside each hold: by context, and the waits of an actor that both name. */
function innerOf(live: ReadonlySet<ActorFrame>): Map<ActorFrame, Set<ActorFrame>> {
  const inner = new Map<ActorFrame, Set<ActorFrame>>()
  const waitsOf = new Map<string, ActorFrame[]>()
  for (const each of live) {
    const { outer, name } = each
    const around = holdAround(outer)
    if (around !== null) add(inner, around, each)
    if (name !== null && waits(each)) waitsOf.set(name, [...(waitsOf.get(name) ?? []), each])
  }
  for (const hold of live) {
    if (!isHeld(hold) || hold.name === null) continue
    for (const wait of waitsOf.get(hold.name) ?? []) add(inner, hold, wait)
  }
  return inner
}

function add(inner: Map<ActorFrame, Set<ActorFrame>>, hold: ActorFrame, each: ActorFrame): void {
  const set = inner.get(hold)
  if (set === undefined) inner.set(hold, new Set([each]))
  else set.add(each)
}

function holdAround(from: ActorFrame | null): ActorFrame | null {
  let at = from
  while (at !== null && at.lease === null) at = at.outer
  return at
}

function blockedWait(wait: Waiting, nowMs: number, runtime: Runtime): BlockedWait {
  const waitedMs = nowMs - wait.waiter.sinceMs
  wait.toldSinceMs ??= Math.round(runtime.wallMs() - waitedMs)
  const { id, storeKey, mode, toldSinceMs } = wait
  return { id, storeKey, mode, actor: actorOf(wait), sinceMs: toldSinceMs, waitedMs }
}

/** The name given here or around; else the number of the outermost hold. */
function actorOf(wait: ActorFrame): string {
  let outermost = wait
  for (let at: ActorFrame | null = wait; at !== null; at = holdAround(at.outer)) {
    if (at.name !== null) return at.name
    outermost = at
  }
  return `#${outermost.id}`
}

function waits(each: ActorFrame): each is Waiting {
  return each.waiter !== null
}

function isHeld(each: ActorFrame): each is Holding {
  return each.lease !== null
}
