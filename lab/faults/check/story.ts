import type { Event, Mode } from '../history.ts'

/** One claim and what became of it, put together from what its process wrote. Times are of the machine's own clock. */
export interface Visit {
  readonly op: string
  readonly worker: string
  readonly key: string
  readonly mode: Mode
  readonly weight: number
  readonly handover: boolean
  readonly waitMs: number
  readonly askedMs: number
  /** When the process knew that it was in the line. */
  waitingMs: number | null
  outcome: 'granted' | 'refused' | 'unknown' | 'open'
  /** When the call came back, or its process died; null for one that did neither. */
  settledMs: number | null
  token: bigint | null
  /** Until when the lease was valid by its own account: whatever ended it first. */
  validUntilMs: number
  endedBy: 'release' | 'loss' | 'deadline' | 'crash'
  releasingMs: number | null
  releasedMs: number | null
  releaseOutcome: 'released' | 'expired' | 'unknown' | null
}

/** A visit that was granted. */
export type Granted = Visit & { readonly settledMs: number }

export interface Write {
  readonly atMs: number
  readonly op: string
  readonly key: string
  readonly token: string
  readonly accepted: boolean
}

export interface Fault {
  readonly id: number
  readonly kind: string
  readonly target: string
  readonly fromMs: number
  /** When it was undone; the end of the history when it never was. */
  toMs: number
}

export interface NamedHolder {
  readonly atMs: number
  readonly key: string
  readonly label: string
  readonly token: bigint
  readonly heldMs: number
}

export interface Story {
  readonly fromMs: number
  readonly toMs: number
  readonly visits: readonly Visit[]
  readonly writes: readonly Write[]
  readonly faults: readonly Fault[]
  readonly crashes: readonly { readonly atMs: number; readonly worker: string }[]
  readonly stalls: readonly { readonly fromMs: number; readonly toMs: number }[]
  /** Holders that the store named. */
  readonly holders: readonly NamedHolder[]
  readonly left: readonly string[]
  readonly complaints: readonly string[]
}

/** The story of a run, read from its history. */
export function storyOf(events: readonly Event[]): Story {
  const visits = new Map<string, Visit>()
  const faults = new Map<number, Fault>()
  const crashedMs = new Map<string, number>()
  const toMs = events.at(-1)?.t ?? 0
  const story = {
    fromMs: events[0]?.t ?? 0,
    toMs,
    writes: [] as Write[],
    crashes: [] as { atMs: number; worker: string }[],
    stalls: [] as { fromMs: number; toMs: number }[],
    holders: [] as NamedHolder[],
    left: [] as string[],
    complaints: [] as string[],
  }
  for (const event of events) {
    switch (event.f) {
      case 'asked':
        visits.set(event.op, begin(event))
        break
      case 'fault':
        faults.set(event.id, {
          id: event.id,
          kind: event.kind,
          target: event.target,
          fromMs: event.t,
          toMs,
        })
        break
      case 'healed': {
        const fault = faults.get(event.id)
        if (fault !== undefined) fault.toMs = event.t
        break
      }
      case 'crashed':
        story.crashes.push({ atMs: event.t, worker: event.worker })
        crashedMs.set(event.worker, event.t)
        break
      case 'stalled':
        story.stalls.push({ fromMs: event.t - event.forMs, toMs: event.t })
        break
      case 'write':
        story.writes.push({ ...event, atMs: event.t })
        break
      case 'holder': {
        const { t: atMs, key, label, token, heldMs } = event
        story.holders.push({ atMs, key, label, token: BigInt(token), heldMs })
        break
      }
      case 'left':
        story.left.push(event.what)
        break
      case 'complaint':
        story.complaints.push(`${event.p}: ${event.text}`)
        break
      case 'begun':
        break
      default: {
        const visit = visits.get(event.op)
        if (visit !== undefined) add(visit, event)
      }
    }
  }
  for (const visit of visits.values()) end(visit, crashedMs.get(visit.worker))
  return { ...story, visits: [...visits.values()], faults: [...faults.values()] }
}

export function grantedOf(visits: readonly Visit[]): Granted[] {
  return visits.filter((visit): visit is Granted => visit.outcome === 'granted')
}

/** The visits of each key. */
export function byKey<V extends { readonly key: string }>(visits: readonly V[]): Map<string, V[]> {
  return grouped(visits, ({ key }) => key)
}

/** The visits of each process. */
export function byWorker(visits: readonly Visit[]): Map<string, Visit[]> {
  return grouped(visits, ({ worker }) => worker)
}

function grouped<V>(visits: readonly V[], nameOf: (visit: V) => string): Map<string, V[]> {
  const groups = new Map<string, V[]>()
  for (const visit of visits) {
    const name = nameOf(visit)
    const own = groups.get(name)
    if (own === undefined) groups.set(name, [visit])
    else own.push(visit)
  }
  return groups
}

function begin(event: Extract<Event, { f: 'asked' }>): Visit {
  const { op, p: worker, key, mode, weight, handover, waitMs, t: askedMs } = event
  return {
    ...{ op, worker, key, mode, weight, handover, waitMs, askedMs },
    waitingMs: null,
    outcome: 'open',
    settledMs: null,
    token: null,
    validUntilMs: 0,
    endedBy: 'deadline',
    releasingMs: null,
    releasedMs: null,
    releaseOutcome: null,
  }
}

function add(visit: Visit, event: Event): void {
  switch (event.f) {
    case 'waiting':
      visit.waitingMs ??= event.t
      break
    case 'granted':
      visit.outcome = 'granted'
      visit.settledMs = event.t
      visit.token = event.token === null ? null : BigInt(event.token)
      visit.validUntilMs = event.untilMs
      break
    case 'refused':
    case 'unknown':
      visit.outcome = event.f
      visit.settledMs = event.t
      break
    case 'held':
      visit.validUntilMs = Math.max(visit.validUntilMs, event.untilMs)
      break
    case 'lost':
      if (visit.validUntilMs > event.t) {
        visit.validUntilMs = event.t
        visit.endedBy = 'loss'
      }
      break
    case 'releasing':
      visit.releasingMs = event.t
      if (visit.validUntilMs > event.t) {
        visit.validUntilMs = event.t
        visit.endedBy = 'release'
      }
      break
    case 'released':
      visit.releasedMs = event.t
      visit.releaseOutcome = event.outcome
  }
}

function end(visit: Visit, crashedMs: number | undefined): void {
  if (crashedMs === undefined) return
  // A dead process waits for nothing.
  if (visit.outcome === 'open') visit.settledMs = crashedMs
  if (visit.validUntilMs <= crashedMs) return
  visit.validUntilMs = crashedMs
  visit.endedBy = 'crash'
}
