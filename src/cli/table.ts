import { cut, padEnd, padStart, widthOf } from './text.ts'

export interface Column {
  readonly title: string
  readonly align?: 'right'
  /** The least number of columns when the terminal is narrow. */
  readonly atLeast?: number
  /** May be dropped when the terminal is too narrow for all; the lowest number goes first. */
  readonly drop?: number
}

const GAP = 2

/** The rows as lines under a title line. With a `width`, columns are dropped or cut until a line fits, as far as they may be. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width = Infinity,
): string[] {
  const natural = columns.map((column, at) =>
    Math.max(widthOf(column.title), ...rows.map((row) => widthOf(row[at] ?? ''))),
  )
  // Some terminals report a width of 0.
  const room = width === 0 ? Infinity : width
  const kept = keptOf(columns, natural, room)
  const widths = fitted(columns, natural, kept, room)
  const line = (cells: readonly string[]): string =>
    kept
      .map((at) => {
        const cell = cut(cells[at] ?? '', widths[at]!)
        return columns[at]!.align === 'right' ? padStart(cell, widths[at]!) : padEnd(cell, widths[at]!)
      })
      .join(' '.repeat(GAP))
      .trimEnd()
  return [line(columns.map((column) => column.title)), ...rows.map(line)]
}

/** The indexes of the columns that fit even when all are cut as far as they may be. */
function keptOf(columns: readonly Column[], natural: readonly number[], width: number): readonly number[] {
  const least = columns.map(({ atLeast }, at) => Math.min(natural[at]!, atLeast ?? Infinity))
  let kept = [...columns.keys()]
  const order = kept
    .filter((at) => columns[at]!.drop !== undefined)
    .sort((one, other) => columns[one]!.drop! - columns[other]!.drop!)
  for (const dropped of order) {
    if (sumOf(least, kept) <= width) break
    kept = kept.filter((at) => at !== dropped)
  }
  return kept
}

/** Narrows the widest of the cuttable columns, one at a time, until the line fits. */
function fitted(
  columns: readonly Column[],
  natural: readonly number[],
  kept: readonly number[],
  width: number,
): number[] {
  const widths = [...natural]
  for (let excess = sumOf(widths, kept) - width; excess > 0; excess--) {
    const cuttable = kept.filter((at) => widths[at]! > (columns[at]!.atLeast ?? Infinity))
    const [first, ...others] = cuttable
    if (first === undefined) break
    const widest = others.reduce((best, at) => (widths[at]! > widths[best]! ? at : best), first)
    widths[widest]!--
  }
  return widths
}

function sumOf(widths: readonly number[], kept: readonly number[]): number {
  return kept.reduce((sum, at) => sum + widths[at]!, GAP * (kept.length - 1))
}
