import { type DemoScreen, fitted } from '../../src/cli/demo/screen.ts'
import { plural, widthOf } from '../../src/cli/text.ts'
import type { Stage } from './context.ts'
import type { Told } from './drawing/page.ts'
import type { Paint } from './drawing/terminal/paint.ts'
import { rowsOf } from './drawing/terminal/rows.ts'
import type { LabEnvironment } from './environments.ts'
import type { Scenario, ScenarioOutcome } from './scenario.ts'

const MOST_COLUMNS = 110
const LEGEND =
  '░ waits  █ inside  ┄ paused  ▒ goes on without the lock  $ sells one  ✖ killed  ⊘ refused  ━A━ whose the key is'

export function introduce(screen: DemoScreen, { about }: LabEnvironment): void {
  for (const row of wrapped(`This lab uses ${about}.`)) screen.line(row)
  screen.line(screen.paint('dim', fitted(LEGEND)))
}

export function canRun({ place }: Pick<Stage, 'place'>, { onlyReal = false }: Scenario): boolean {
  return place.realServers || !onlyReal
}

export function announce({ screen, place }: Stage, scenario: Scenario, number: string): void {
  const { title, about, breaksServers = false } = scenario
  screen.line()
  screen.line(screen.paint('bold', fitted(`${number}  ${title}`)))
  for (const row of wrapped(about)) screen.line(screen.paint('dim', `    ${row}`))
  if (!canRun({ place }, scenario))
    screen.line(
      screen.paint('yellow', '    Not run: this needs real servers, and there is no redis-server here.'),
    )
  if (breaksServers && !place.realServers)
    screen.line(
      screen.paint('yellow', '    These servers are models: there is no redis-server here to break.'),
    )
}

/** The figures, what was to be shown and was or was not, and what it means. */
export function show(screen: DemoScreen, { figures, claims, verdict }: ScenarioOutcome): void {
  const paint = screen.paint as Paint
  for (const figure of figures)
    for (const row of rowsOf(figure, paint, process.stdout.columns)) screen.line(row)
  for (const { shown, text } of claims)
    screen.line(`  ${shown ? paint('green', '✔') : paint('red', '✘')} ${fitted(text)}`)
  for (const row of wrapped(verdict)) screen.line(`  ${row}`)
}

export function allShown({ claims }: ScenarioOutcome): boolean {
  return claims.every(({ shown }) => shown)
}

/** One line at the end, and the names of those who did not show what they claim. */
export function conclude(screen: DemoScreen, told: readonly Told[]): void {
  const failed = told.filter(({ outcome }) => !allShown(outcome))
  const line =
    failed.length === 0
      ? screen.paint(['green', 'bold'], `✔ ${plural(told.length, 'scenario')}, each showed what it claims.`)
      : screen.paint(
          ['red', 'bold'],
          `✘ not shown: ${failed.map(({ scenario }) => scenario.name).join(', ')}`,
        )
  screen.line()
  screen.line(line)
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
