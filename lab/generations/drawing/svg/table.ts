import { cut } from '../../../../src/cli/text.ts'
import type { Table } from '../../figures.ts'
import { line, picture, text } from './markup.ts'
import { colourOf } from './style.ts'

const WIDTH = 980
const TOP = 76
const ROW = 22
const LETTER = 7.3
const GAP = 24
const LEFT = 16

/** Rows of text, as wide as their columns need; the last column gets what is left. */
export function tableSvg({ title, columns, rows }: Table): string {
  const letters = columns.map((column, at) =>
    Math.max(column.length, ...rows.map((row) => [...(row[at] ?? '')].length)),
  )
  const room = (WIDTH - 2 * LEFT - GAP * (columns.length - 1)) / LETTER
  const widths = shared(letters, room)
  const xOf = (at: number): number =>
    LEFT + widths.slice(0, at).reduce((sum, width) => sum + width * LETTER + GAP, 0)
  const cells = (row: readonly string[], y: number, style: string): string[] =>
    row.map((cell, at) =>
      cell === '' ? '' : text(xOf(at), y, cut(cell, Math.floor(widths[at]!)), { class: style }),
    )
  const bottom = TOP + rows.length * ROW
  return picture(WIDTH, bottom + 6, title, [
    text(LEFT, 28, title, { class: 'title' }),
    ...cells(columns, 56, 'faint'),
    line(LEFT, 63, WIDTH - LEFT, 63, { stroke: colourOf('rule') }),
    ...rows.flatMap((row, at) => cells(row, TOP + at * ROW + 6, 'mono')),
  ])
}

/** The excess is taken from the widest columns. */
function shared(letters: readonly number[], room: number): number[] {
  const widths = [...letters]
  while (widths.reduce((sum, width) => sum + width, 0) > room) {
    const widest = widths.indexOf(Math.max(...widths))
    widths[widest]!--
  }
  return widths
}
