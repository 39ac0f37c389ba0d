import { padStart } from '../../../../src/cli/text.ts'
import type { Plot } from '../../figures.ts'
import type { Paint, Style } from './paint.ts'

const ROWS = 10
const STEP_COLUMNS = 12
const LABEL_COLUMNS = 9
const MARKS = ['●', '■', '▲', '◆'] as const
const STYLES: readonly Style[] = ['red', 'yellow', 'cyan', 'green']

/** One mark for each measured point; where several fall on one place, the first line's is seen. */
export function plotRows({ title, across, up, places, lines }: Plot, paint: Paint): string[] {
  const most = Math.max(...lines.flatMap(({ values }) => values), Number.MIN_VALUE)
  const width = places.length * STEP_COLUMNS
  const grid = Array.from({ length: ROWS }, () => Array<string>(width).fill(' '))
  for (const [index, { values }] of [...lines.entries()].reverse()) {
    for (const [at, value] of values.entries()) {
      const row = ROWS - 1 - Math.round((value / most) * (ROWS - 1))
      grid[row]![at * STEP_COLUMNS + STEP_COLUMNS / 2] = paint(
        STYLES[index % STYLES.length]!,
        MARKS[index % MARKS.length]!,
      )
    }
  }
  const body = grid.map((cells, row) => {
    const label = row % 3 === 0 ? shortly((most * (ROWS - 1 - row)) / (ROWS - 1)) : ''
    return `  ${padStart(label, LABEL_COLUMNS)} ${paint('dim', '│')}${cells.join('').trimEnd()}`
  })
  const indent = ' '.repeat(LABEL_COLUMNS + 3)
  const axis = `${indent}${paint('dim', `└${'─'.repeat(width)}`)}`
  const ticks = places
    .map((place) =>
      String(place)
        .padStart(STEP_COLUMNS / 2 + 1)
        .padEnd(STEP_COLUMNS),
    )
    .join('')
  const legend = lines.map(
    ({ name }, at) => `${paint(STYLES[at % STYLES.length]!, MARKS[at % MARKS.length]!)} ${name}`,
  )
  return [
    `  ${paint('bold', title)}  ${paint('dim', `(${up})`)}`,
    ...body,
    axis,
    `${indent} ${ticks.trimEnd()}  ${paint('dim', across)}`,
    `${indent} ${legend.join('   ')}`,
  ]
}

/** A number in few letters. */
export function shortly(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return value >= 10 ? value.toFixed(0) : value.toFixed(1)
}
