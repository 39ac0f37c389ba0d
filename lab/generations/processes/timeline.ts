import type { Bar, Mark, MarkKind, Timeline, TimelineRow } from '../figures.ts'
import { insideOf, overlapsOf, pausedOf } from './evidence.ts'
import type { History, Kind, TimeSpan } from './history.ts'
import type { KeySample } from './key-watch.ts'

export interface Sightings {
  readonly title: string
  readonly ttlMs: number
  readonly startMs: number
  readonly endMs: number
  readonly history: History
  /** For each server, what was seen of the key. */
  readonly keys: readonly { readonly name: string; readonly samples: readonly KeySample[] }[]
  readonly footer: string
  readonly exact: boolean
}

const MARKS: Partial<Record<Kind, MarkKind>> = {
  killed: 'killed',
  sold: 'sold',
  refused: 'refused',
  gaveUp: 'gaveUp',
}

/** The holder of the key over time: a row for each process, one for the key in each server, one for violations. */
export function timelineOf(seen: Sightings): Timeline {
  const { title, ttlMs, startMs, endMs, history, footer, exact } = seen
  const lanes = [
    ...history.actors.map((actor) => actorLane(seen, actor)),
    ...seen.keys.map(({ name, samples }) => keyLane(seen, name, samples)),
    overlapLane(history, endMs),
  ]
  return {
    kind: 'timeline',
    title,
    ttlMs,
    lengthMs: endMs - startMs,
    lanes: lanes.map(fromStart(startMs)),
    footer,
    exact,
  }
}

function actorLane({ history, endMs }: Sightings, actor: string): TimelineRow {
  const asked = history.when(actor, 'asked')
  const inside = insideOf(history, actor, endMs)
  const paused = pausedOf(history, actor, endMs)
  const lost = history.when(actor, 'lost')
  const over = history.when(actor, 'killed', 'gaveUp', 'released') ?? endMs
  const bars: Bar[] = []
  if (asked !== null) bars.push({ kind: 'waits', fromMs: asked, toMs: inside?.fromMs ?? over })
  if (inside !== null) bars.push({ kind: 'inside', ...inside })
  if (paused !== null) bars.push({ kind: 'paused', ...paused })
  if (lost !== null) bars.push({ kind: 'stray', fromMs: lost, toMs: over })
  const own = history.events.filter((event) => event.actor === actor)
  const marks = own.flatMap(({ kind, atMs }): Mark[] => {
    const mark = MARKS[kind]
    return mark === undefined ? [] : [{ kind: mark, atMs }]
  })
  return { name: actor, bars, marks, remark: remarkOf(own.map(({ kind }) => kind)) }
}

function remarkOf(kinds: readonly Kind[]): string {
  if (kinds.includes('killed')) return 'killed'
  if (kinds.includes('gaveUp')) return 'never got it'
  if (kinds.includes('refused'))
    return kinds.includes('paused') ? 'paused; late write refused' : 'late write refused'
  return kinds.includes('paused') ? 'paused, woke up' : ''
}

function keyLane({ history, endMs }: Sightings, name: string, samples: readonly KeySample[]): TimelineRow {
  const bars: Bar[] = []
  let before: string | null = null
  for (const { atMs, value } of samples) {
    const owner = value === null ? null : ownerOf(history, value, atMs)
    const last = bars.at(-1)
    if (owner !== null && owner === before && last !== undefined)
      bars[bars.length - 1] = { ...last, toMs: atMs }
    else if (owner !== null) bars.push({ kind: 'key', owner, fromMs: atMs, toMs: atMs })
    before = owner
  }
  const stillThere = (samples.at(-1)?.value ?? null) !== null
  const forEver = stillThere && history.events.some(({ kind }) => kind === 'gaveUp')
  const died = history.events.find(({ kind }) => kind === 'serverDied')?.atMs ?? endMs
  const ended = (samples.at(-1)?.atMs ?? endMs) <= died && died < endMs
  return { name, bars, marks: [], remark: forEver ? 'never freed' : ended ? 'server killed' : '' }
}

/** The value of the first two generations says nothing, so the key is that of whoever took it last. */
function ownerOf(history: History, value: string, atMs: number): string {
  const byId = history.events.find(({ kind, id }) => kind === 'took' && id === value)
  if (byId !== undefined) return byId.actor
  if (history.actors.includes(value)) return value
  const taken = history.events.filter(({ kind }) => kind === 'took' || kind === 'stood')
  return (taken.findLast((event) => event.atMs <= atMs) ?? taken[0])?.actor ?? '?'
}

function overlapLane(history: History, endMs: number): TimelineRow {
  const overlaps = overlapsOf(history, endMs)
  const pairs = [...new Set(overlaps.map(({ actors }) => actors.join(' and ')))]
  const bars = overlaps.map(({ fromMs, toMs }): Bar => ({ kind: 'overlap', fromMs, toMs }))
  return { name: 'two at once', bars, marks: [], remark: pairs.length === 0 ? 'never' : pairs.join(', ') }
}

function fromStart(startMs: number): (lane: TimelineRow) => TimelineRow {
  const moved = <S extends TimeSpan>(span: S): S => ({
    ...span,
    fromMs: Math.max(0, span.fromMs - startMs),
    toMs: Math.max(0, span.toMs - startMs),
  })
  return (lane) => ({
    ...lane,
    bars: lane.bars.map(moved),
    marks: lane.marks.map((mark) => ({ ...mark, atMs: mark.atMs - startMs })),
  })
}
