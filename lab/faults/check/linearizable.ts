/** One step of a history: it took effect at some time between its beginning and its end, if it has an end. */
export interface Step<S> {
  readonly fromMs: number
  /** Infinity for what may as well not have happened. */
  readonly toMs: number
  /** Where to look first, which costs nothing when it is wrong but time. */
  readonly likelyMs: number
  readonly name: string
  /** The state afterwards, or null where this cannot happen in that state. */
  apply(state: S): S | null
}

export type LinearVerdict =
  | { readonly kind: 'yes' }
  /** No order explains the history; the step that no search got past. */
  | { readonly kind: 'no'; readonly step: string; readonly atMs: number }
  /** The search was given up: nothing is proven. */
  | { readonly kind: 'unknown'; readonly states: number }

interface Frame<S> {
  /** Every step before this place has been put in order. */
  readonly base: number
  /** And these of the later ones. */
  readonly extra: readonly number[]
  readonly state: S
  readonly candidates: readonly number[]
  next: number
}

/** A history that makes sense needs about as many states as it has steps. */
const STATES_PER_STEP = 10
const LEAST_STATES = 50_000

/**
 * Looks for an order of the steps that agrees with their times and with the model (Wing and Gong), remembering which sets of
 * steps have led nowhere. The state must follow from which steps were taken, whatever their order.
 */
export function linearizable<S>(steps: readonly Step<S>[], first: S): LinearVerdict {
  const mostStates = Math.max(LEAST_STATES, steps.length * STATES_PER_STEP)
  const ordered = [...steps].sort((one, other) => one.fromMs - other.fromMs)
  const seen = new Set<string>()
  const stack = [frame(ordered, 0, [], first)]
  let furthest = 0
  for (let visited = 0; ; ) {
    const top = stack.at(-1)
    if (top === undefined) break
    // The remaining operations may as well not have happened.
    if (top.candidates.every((place) => (ordered[place] as Step<S>).toMs === Number.POSITIVE_INFINITY))
      return { kind: 'yes' }
    const place = top.candidates[top.next++]
    if (place === undefined) {
      stack.pop()
      continue
    }
    const state = (ordered[place] as Step<S>).apply(top.state)
    if (state === null) continue
    const { base, extra } = advanced(top, place)
    const key = `${base}:${extra}`
    if (seen.has(key)) continue
    seen.add(key)
    if (++visited > mostStates) return { kind: 'unknown', states: mostStates }
    furthest = Math.max(furthest, base)
    stack.push(frame(ordered, base, extra, state))
  }
  const stuck = ordered[furthest]
  return { kind: 'no', step: stuck?.name ?? '', atMs: stuck?.toMs ?? 0 }
}

function frame<S>(ordered: readonly Step<S>[], base: number, extra: readonly number[], state: S): Frame<S> {
  const candidates: number[] = []
  // Nothing can come before a step that had ended when it began.
  let limitMs = Number.POSITIVE_INFINITY
  for (let place = base; place < ordered.length; place++) {
    const step = ordered[place] as Step<S>
    if (step.fromMs > limitMs) break
    if (extra.includes(place)) continue
    candidates.push(place)
    limitMs = Math.min(limitMs, step.toMs)
  }
  const possible = candidates.filter((place) => (ordered[place] as Step<S>).fromMs <= limitMs)
  possible.sort((one, other) => (ordered[one] as Step<S>).likelyMs - (ordered[other] as Step<S>).likelyMs)
  return { base, extra, state, candidates: possible, next: 0 }
}

/** The steps that have been taken, in their order, with one more. */
function advanced({ base, extra }: Frame<unknown>, place: number): Pick<Frame<unknown>, 'base' | 'extra'> {
  if (place !== base) {
    const after = extra.findIndex((other) => other > place)
    const at = after < 0 ? extra.length : after
    return { base, extra: [...extra.slice(0, at), place, ...extra.slice(at)] }
  }
  base++
  let taken = 0
  for (; extra[taken] === base; taken++) base++
  return { base, extra: extra.slice(taken) }
}
