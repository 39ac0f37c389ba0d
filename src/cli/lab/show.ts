import { fitted, type Screen } from '../demo/screen.ts'
import { LEGEND, type Paint, timelineRows } from './drawing/terminal.ts'
import type { Figure } from './figures.ts'
import type { Outcome, Scenario } from './scenario.ts'

export function announce(screen: Screen, { title, about }: Scenario, number: string): void {
  screen.line()
  screen.line(screen.paint('bold', fitted(`${number}  ${title}`)))
  screen.line(screen.paint('dim', fitted(`    ${about}`)))
}

/** The figures, what was to be shown and was or was not, and what it means. */
export function show(screen: Screen, { figures, claims, verdict }: Outcome): void {
  const paint = screen.paint as Paint
  for (const figure of figures) for (const row of rowsOf(figure, paint)) screen.line(row)
  for (const { shown, text } of claims)
    screen.line(`  ${shown ? paint('green', '✔') : paint('red', '✘')} ${fitted(text)}`)
  screen.line(`  ${verdict}`)
}

export function legend(screen: Screen): void {
  screen.line(screen.paint('dim', fitted(LEGEND)))
}

function rowsOf(figure: Figure, paint: Paint): string[] {
  const rows = timelineRows(figure, paint, process.stdout.columns)
  return [...rows, `  ${figure.footer}`]
}
