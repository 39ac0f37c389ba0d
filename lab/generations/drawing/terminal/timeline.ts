import { padEnd } from '../../../../src/cli/text.ts'
import type { BarKind, MarkKind, Timeline, TimelineRow } from '../../figures.ts'
import type { Paint, Style } from './paint.ts'

/** Later ones are drawn over earlier ones. */
const BARS: Record<BarKind, { readonly mark: string; readonly style: Style }> = {
  waits: { mark: '░', style: 'dim' },
  inside: { mark: '█', style: 'green' },
  key: { mark: '━', style: 'cyan' },
  stray: { mark: '▒', style: 'yellow' },
  paused: { mark: '┄', style: 'yellow' },
  overlap: { mark: '▲', style: 'red' },
}
const MARKS: Record<MarkKind, { readonly mark: string; readonly style: Style }> = {
  sold: { mark: '$', style: 'bold' },
  killed: { mark: '✖', style: 'red' },
  refused: { mark: '⊘', style: 'red' },
  gaveUp: { mark: '?', style: 'red' },
}
const NAME_COLUMNS = 16
const REMARK_COLUMNS = 28
const MOST_COLUMNS = 72
const FEWEST_COLUMNS = 24

interface Cell {
  readonly text: string
  readonly style: Style
}

/** Rows of the timeline for a terminal of so many columns. */
export function timelineRows(timeline: Timeline, paint: Paint, terminalColumns = 100): string[] {
  const room = terminalColumns - 1 - NAME_COLUMNS - REMARK_COLUMNS
  const columns = Math.max(FEWEST_COLUMNS, Math.min(MOST_COLUMNS, room))
  const columnOf = (atMs: number): number =>
    Math.min(columns - 1, Math.max(0, Math.floor((atMs / timeline.lengthMs) * columns)))
  const rows = timeline.lanes.map((lane) => {
    const name = padEnd(`  ${lane.name}`, NAME_COLUMNS)
    return `${name}${joined(cellsOf(lane, columns, columnOf), paint)}  ${remark(lane, paint)}`.trimEnd()
  })
  return [
    ...rows,
    paint('dim', axis(timeline.lengthMs, columns)),
    `  ${paint(timeline.exact ? 'green' : 'red', timeline.footer)}`,
  ]
}

function cellsOf(lane: TimelineRow, columns: number, columnOf: (atMs: number) => number): Cell[] {
  const cells: Cell[] = Array.from({ length: columns }, () => ({ text: '·', style: 'dim' }))
  for (const { kind, fromMs, toMs, owner } of lane.bars) {
    const { mark, style } = BARS[kind]
    const [from, to] = [columnOf(fromMs), columnOf(toMs)]
    cells.fill({ text: mark, style }, from, to + 1)
    // The owner's letter stands in the middle of its stretch.
    if (owner !== undefined) cells[Math.floor((from + to) / 2)] = { text: owner.slice(0, 1), style: 'bold' }
  }
  for (const { kind, atMs } of lane.marks) {
    const { mark, style } = MARKS[kind]
    cells[columnOf(atMs)] = { text: mark, style }
  }
  return cells
}

/** Neighbours of one colour are painted together. */
function joined(cells: readonly Cell[], paint: Paint): string {
  let text = ''
  for (let at = 0; at < cells.length; ) {
    const { style } = cells[at]!
    let run = ''
    while (at < cells.length && cells[at]!.style === style) run += cells[at++]!.text
    text += paint(style, run)
  }
  return text
}

function remark({ remark: text, bars }: TimelineRow, paint: Paint): string {
  return bars.some(({ kind }) => kind === 'overlap') ? paint('red', text) : text
}

/** A tick every half second. */
function axis(lengthMs: number, columns: number): string {
  const line: string[] = Array(columns + 6).fill(' ')
  for (let atMs = 0; atMs <= lengthMs; atMs += 500) {
    const text = `${atMs / 1_000} s`
    const at = Math.floor((atMs / lengthMs) * columns)
    if (at < columns) line.splice(at, text.length, ...text)
  }
  return `${' '.repeat(NAME_COLUMNS)}${line.join('').trimEnd()}`
}
