import { fitted, type Screen } from '../demo/screen.ts'
import { widthOf } from '../text.ts'
import type { Paint } from './drawing/terminal/paint.ts'
import { rowsOf } from './drawing/terminal/rows.ts'
import type { Outcome, Scenario } from './scenario.ts'

const MOST_COLUMNS = 110
const LEGEND =
  '░ waits  █ inside  ┄ paused  ▒ goes on without the lock  $ sells one  ✖ killed  ⊘ refused  ━A━ whose the key is'

export function announce(screen: Screen, { title, about }: Scenario, number: string): void {
  screen.line()
  screen.line(screen.paint('bold', fitted(`${number}  ${title}`)))
  for (const row of wrapped(about)) screen.line(screen.paint('dim', `    ${row}`))
}

/** The figures, what was to be shown and was or was not, and what it means. */
export function show(screen: Screen, { figures, claims, verdict }: Outcome): void {
  const paint = screen.paint as Paint
  for (const figure of figures)
    for (const row of rowsOf(figure, paint, process.stdout.columns)) screen.line(row)
  for (const { shown, text } of claims)
    screen.line(`  ${shown ? paint('green', '✔') : paint('red', '✘')} ${fitted(text)}`)
  for (const row of wrapped(verdict)) screen.line(`  ${row}`)
}

export function legend(screen: Screen): void {
  screen.line(screen.paint('dim', fitted(LEGEND)))
}

/** The text in rows that fit the terminal. */
function wrapped(text: string): string[] {
  const columns = Math.min(process.stdout.columns ?? MOST_COLUMNS, MOST_COLUMNS) - 6
  const rows: string[] = []
  for (const word of text.split(' ')) {
    const longer = `${rows.at(-1)} ${word}`
    if (rows.length > 0 && widthOf(longer) <= columns) rows[rows.length - 1] = longer
    else rows.push(word)
  }
  return rows
}
