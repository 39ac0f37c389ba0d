import { handedOnForgotten } from './forgotten.ts'
import { linearizable, type Step } from './linearizable.ts'
import { compatible, explains, type OverlapRules } from './overlaps.ts'
import { byKey, type Granted, grantedOf, type Story } from './story.ts'
import type { Violation } from './violation.ts'

/** Follows from the claims that have come and gone: the highest tokens of all of them, and of the exclusive ones. */
interface State {
  readonly holders: readonly Granted[]
  readonly token: bigint
  readonly exclusiveToken: bigint
}

/**
 * Checks that the history of each key is one of a lock: grants and ends in some order in which no two holders exclude each other and
 * every token is above the ones before; a sharer, which may use an older grant of its process, is above the exclusive ones. Claims that were refused, or whose outcome nobody knows, may always have done nothing, so
 * that they explain nothing and are left out, and so are hand-overs of what the store had forgotten.
 */
export function lockModel(story: Story, rules: OverlapRules): Violation[] {
  const found: Violation[] = []
  for (const [key, all] of byKey(grantedOf(story.visits))) {
    const forgotten = handedOnForgotten(all, story, rules)
    const visits = all.filter(({ op }) => !forgotten.has(op))
    const successions = new Successions(visits)
    const steps = visits.flatMap((visit) => [
      grantOf(visit, rules.permits),
      endOf(visit, successions.endMs(visit), story, rules),
    ])
    const verdict = linearizable<State>(steps, { holders: [], token: -1n, exclusiveToken: -1n })
    if (verdict.kind === 'yes') continue
    const what =
      verdict.kind === 'no'
        ? `no order of grants and ends explains the history: the search stops before ${verdict.step}`
        : `whether an order of grants and ends explains the history is unknown, gave up after ${verdict.states} states`
    const atMs = verdict.kind === 'no' ? verdict.atMs : story.fromMs
    found.push({ check: 'linearizable', atMs: Number.isFinite(atMs) ? atMs : story.toMs, key, what, ops: [] })
  }
  return found
}

function grantOf(visit: Granted, permits: number): Step<State> {
  return {
    fromMs: visit.askedMs,
    toMs: visit.settledMs,
    likelyMs: visit.settledMs,
    name: `the grant of ${visit.op}`,
    apply({ holders, token, exclusiveToken }) {
      if (holders.some((holder) => !compatible(holder, visit))) return null
      const floor = visit.mode === 'exclusive' ? token : exclusiveToken
      if (visit.token !== null && visit.token <= floor) return null
      const used = [...holders, visit].reduce(
        (sum, each) => sum + (each.mode === 'permits' ? each.weight : 0),
        0,
      )
      if (used > permits) return null
      const now = visit.token ?? token
      return {
        holders: [...holders, visit],
        token: now > token ? now : token,
        exclusiveToken: visit.mode === 'exclusive' && now > exclusiveToken ? now : exclusiveToken,
      }
    },
  }
}

function endOf(visit: Granted, toMs: number, story: Story, rules: OverlapRules): Step<State> {
  // A hold that the store forgot by a documented weakness may have ended with that fault, even before its holder heard of the grant.
  const forgotten = story.faults
    .filter(({ fromMs }) => fromMs <= visit.validUntilMs)
    .find((fault) => explains(fault, Math.max(visit.settledMs, fault.fromMs), rules))
  // A lease that was over when its holder heard of it ended at some time since it was asked for.
  const ownMs = visit.validUntilMs > visit.settledMs ? visit.validUntilMs : visit.askedMs
  const fromMs = forgotten === undefined ? ownMs : Math.min(ownMs, Math.max(visit.askedMs, forgotten.fromMs))
  return {
    fromMs,
    toMs,
    likelyMs: fromMs,
    name: `the end of ${visit.op}`,
    apply({ holders, ...tokens }) {
      if (!holders.includes(visit)) return null
      return { holders: holders.filter((holder) => holder !== visit), ...tokens }
    },
  }
}

/** By when a hold was over: an answer says so, or the grant of somebody who came after it and excludes it. */
class Successions {
  private readonly asked: readonly Granted[]
  /** The earliest grant among those who asked from that place on: of all, and of the exclusive ones. */
  private readonly any: readonly number[]
  private readonly exclusive: readonly number[]

  constructor(visits: readonly Granted[]) {
    this.asked = [...visits].sort((one, other) => one.askedMs - other.askedMs)
    this.any = earliest(this.asked, () => true)
    this.exclusive = earliest(this.asked, ({ mode }) => mode === 'exclusive')
  }

  endMs(visit: Granted): number {
    const known = visit.releasedMs !== null && visit.releaseOutcome !== 'unknown'
    const after = this.placeAfter(visit.settledMs)
    const next = (visit.mode === 'exclusive' ? this.any : this.exclusive)[after] ?? Number.POSITIVE_INFINITY
    return Math.min(next, known ? (visit.releasedMs as number) : Number.POSITIVE_INFINITY)
  }

  /** Of the first who asked after that time. */
  private placeAfter(atMs: number): number {
    let low = 0
    let high = this.asked.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.asked[middle] as Granted).askedMs > atMs) high = middle
      else low = middle + 1
    }
    return low
  }
}

function earliest(asked: readonly Granted[], counts: (visit: Granted) => boolean): number[] {
  const found: number[] = Array(asked.length)
  let ms = Number.POSITIVE_INFINITY
  for (let place = asked.length - 1; place >= 0; place--) {
    const visit = asked[place] as Granted
    if (counts(visit)) ms = Math.min(ms, visit.settledMs)
    found[place] = ms
  }
  return found
}
