import { cut, padEnd, padStart, widthOf } from './text.ts'

export interface Column {
  readonly title: string
  readonly align?: 'right'
  /** May be cut to this many columns when the terminal is narrow. */
  readonly atLeast?: number
}

const GAP = 2

/** The rows as lines under a title line. With a `width`, the columns that may be cut share the loss. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width = Infinity,
): string[] {
  const natural = columns.map((column, at) =>
    Math.max(widthOf(column.title), ...rows.map((row) => widthOf(row[at] ?? ''))),
  )
  const widths = fitted(columns, natural, width)
  const line = (cells: readonly string[]): string =>
    columns
      .map(({ align }, at) => {
        const cell = cut(cells[at] ?? '', widths[at]!)
        return align === 'right' ? padStart(cell, widths[at]!) : padEnd(cell, widths[at]!)
      })
      .join(' '.repeat(GAP))
      .trimEnd()
  return [line(columns.map((column) => column.title)), ...rows.map(line)]
}

/** Takes columns from the widest of those that may be cut, one at a time, until the line fits. */
function fitted(columns: readonly Column[], natural: readonly number[], width: number): number[] {
  const widths = [...natural]
  let excess = widths.reduce((sum, each) => sum + each, GAP * (columns.length - 1)) - width
  while (excess > 0) {
    let widest = -1
    for (const [at, { atLeast }] of columns.entries()) {
      if (atLeast === undefined || widths[at]! <= atLeast) continue
      if (widest === -1 || widths[at]! > widths[widest]!) widest = at
    }
    if (widest === -1) break
    widths[widest]!--
    excess--
  }
  return widths
}
