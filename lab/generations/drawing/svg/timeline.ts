import type { Bar, Mark, Timeline, TimelineRow } from '../../figures.ts'
import { element, line, picture, rectangle, text, widthOfText } from './markup.ts'
import { colourOf } from './style.ts'

const WIDTH = 860
const LEFT = 110
const RIGHT = 190
const TOP = 58
const LANE = 34
const BAR = 20
const TICK_MS = 250

/** The holder of the key over time, as a picture. */
export function timelineSvg(timeline: Timeline): string {
  const { title, lengthMs, lanes, footer, exact } = timeline
  const span = WIDTH - LEFT - RIGHT
  const xOf = (atMs: number): number => LEFT + (Math.min(atMs, lengthMs) / lengthMs) * span
  const bottom = TOP + lanes.length * LANE
  const body = [
    text(16, 28, title, { class: 'title' }),
    ...ticks(lengthMs, xOf, bottom),
    ...lanes.flatMap((lane, at) => laneParts(lane, TOP + at * LANE, xOf)),
    ...shades(lanes, xOf, bottom),
    text(16, bottom + 44, footer, { style: 'font-weight:600', fill: colourOf(exact ? 'good' : 'bad') }),
    ...legend(timeline, bottom + 68),
  ]
  return picture(WIDTH, bottom + 84, `${title}. ${footer}`, body)
}

function ticks(lengthMs: number, xOf: (atMs: number) => number, bottom: number): string[] {
  const parts: string[] = []
  for (let atMs = 0; atMs <= lengthMs; atMs += TICK_MS) {
    const whole = atMs % (TICK_MS * 2) === 0
    parts.push(line(xOf(atMs), TOP - 8, xOf(atMs), bottom, { stroke: colourOf('rule') }))
    if (whole)
      parts.push(
        text(xOf(atMs), bottom + 17, `${atMs / 1_000} s`, { class: 'faint', 'text-anchor': 'middle' }),
      )
  }
  return parts
}

function laneParts(lane: TimelineRow, top: number, xOf: (atMs: number) => number): string[] {
  const middle = top + BAR / 2 + 5
  const bad = lane.bars.some(({ kind }) => kind === 'overlap')
  return [
    text(LEFT - 12, middle, lane.name, { 'text-anchor': 'end' }),
    ...lane.bars.map((bar) => barPart(bar, top, xOf)),
    ...lane.marks.map((mark) => markPart(mark, top, xOf)),
    text(
      WIDTH - RIGHT + 12,
      middle,
      lane.remark,
      bad ? { fill: colourOf('bad'), style: 'font-weight:600' } : { class: 'faint' },
    ),
  ]
}

function barPart({ kind, fromMs, toMs, owner }: Bar, top: number, xOf: (atMs: number) => number): string {
  const [from, to] = [xOf(fromMs), xOf(toMs)]
  const thin = kind === 'waits' ? 7 : 0
  const shape = rectangle(from, top + thin, to - from, BAR - thin * 2, {
    rx: 3,
    fill: kind === 'paused' ? colourOf('ground') : colourOf(kind),
    ...(kind === 'paused'
      ? { stroke: colourOf('paused'), 'stroke-width': 2, 'stroke-dasharray': '5 4' }
      : {}),
  })
  const label =
    owner ?? { inside: 'inside', paused: 'paused', stray: 'goes on', waits: '', key: '', overlap: '' }[kind]
  if (widthOfText(label, 12) + 6 > to - from) return shape
  const attributes = kind === 'paused' ? { class: 'faint' } : { class: 'on' }
  return shape + text((from + to) / 2, top + BAR / 2 + 4.5, label, { ...attributes, 'text-anchor': 'middle' })
}

const MARKS: Record<Mark['kind'], readonly [letter: string, colour: string]> = {
  killed: ['✕', colourOf('bad')],
  sold: ['●', colourOf('text')],
  refused: ['⊘', colourOf('bad')],
  gaveUp: ['?', colourOf('bad')],
}

function markPart({ kind, atMs }: Mark, top: number, xOf: (atMs: number) => number): string {
  const [x, y] = [xOf(atMs), top + BAR / 2]
  const [letter, colour] = MARKS[kind]
  if (kind === 'sold')
    return element('circle', {
      cx: x,
      cy: y,
      r: 5,
      fill: colour,
      stroke: colourOf('ground'),
      'stroke-width': 1.5,
    })
  const size = kind === 'gaveUp' ? 16 : 22
  const weight = `font-size:${size}px;font-weight:700`
  const halo = { 'paint-order': 'stroke', stroke: colourOf('ground'), 'stroke-width': 4 }
  return text(x, y + size * 0.36, letter, { 'text-anchor': 'middle', fill: colour, style: weight, ...halo })
}

/** The red of two at once runs through all rows, so that one sees who they were. */
function shades(lanes: readonly TimelineRow[], xOf: (atMs: number) => number, bottom: number): string[] {
  return lanes
    .flatMap(({ bars }) => bars)
    .filter(({ kind }) => kind === 'overlap')
    .map(({ fromMs, toMs }) =>
      rectangle(xOf(fromMs), TOP - 8, xOf(toMs) - xOf(fromMs), bottom - TOP + 8, {
        fill: colourOf('overlap'),
        opacity: 0.13,
      }),
    )
}

/** Names what is in this picture, and nothing else. */
function legend({ lanes }: Timeline, y: number): string[] {
  const kinds = new Set(lanes.flatMap(({ bars, marks }) => [...bars, ...marks].map(({ kind }) => kind)))
  const names: readonly (readonly [Bar['kind'] | Mark['kind'], string])[] = [
    ['waits', 'waits'],
    ['inside', 'inside'],
    ['paused', 'paused'],
    ['stray', 'goes on without the lock'],
    ['key', 'whose the key is'],
    ['overlap', 'two at once'],
    ['sold', 'sells one'],
    ['killed', 'killed'],
    ['refused', 'write refused'],
    ['gaveUp', 'gave up'],
  ]
  let x = 16
  return names
    .filter(([kind]) => kinds.has(kind))
    .map(([kind, name]) => {
      const at = x
      x += 24 + widthOfText(name, 12) + 12
      const sample =
        kind in MARKS
          ? markPart({ kind: kind as Mark['kind'], atMs: 0 }, y - 14, () => at + 8)
          : barPart({ kind: kind as Bar['kind'], fromMs: 0, toMs: 1 }, y - 14, (side) => at + side * 16)
      return sample + text(at + 22, y, name, { class: 'faint' })
    })
}
