import { table } from '../table.ts'
import { SALE } from './messages.ts'
import { type DemoScreen, fitted } from './screen.ts'
import { MARKS, scale, timeline } from './timeline.ts'
import { brokenPromises, type SaleRecord, type SaleTally, tallyOf } from './witness.ts'

const COLUMNS = [
  { title: '' },
  { title: 'stock', align: 'right' },
  { title: 'sold', align: 'right' },
  { title: 'oversold by', align: 'right' },
  { title: 'sold twice', align: 'right' },
  { title: 'late writes refused', align: 'right' },
  { title: 'time', align: 'right' },
] as const
const REMARK_COLUMNS = 30
const MOST_COLUMNS = 90

/** The timeline of the guarded sale, both sales side by side, and the verdict. */
export function report(screen: DemoScreen, hasty: SaleRecord, guarded: SaleRecord): void {
  const { paint } = screen
  const columns = Math.min(MOST_COLUMNS, Math.max(20, (process.stdout.columns ?? 100) - 10 - REMARK_COLUMNS))
  screen.line()
  screen.line(paint('bold', 'Who was inside the sale with Holdfast, and when'))
  for (const row of timeline(guarded, columns)) screen.line(coloured(paint, fitted(row)))
  screen.line(paint('dim', scale(guarded, columns)))
  screen.line(
    paint(
      'dim',
      `${MARKS.held} holds the lock  ${MARKS.killed} killed  ${MARKS.paused} paused  ${MARKS.refused} late write refused`,
    ),
  )
  screen.line()
  const [titles, ...rows] = table(COLUMNS, [hasty, guarded].map(tallyOf).map(rowOf))
  screen.line(paint('dim', titles!))
  screen.line(paint('red', rows[0]!))
  screen.line(paint('green', rows[1]!))
  screen.line()
  for (const line of verdict(guarded))
    screen.line(line.startsWith('✔') ? paint(['green', 'bold'], line) : paint(['red', 'bold'], line))
}

function verdict(guarded: SaleRecord): string[] {
  const broken = brokenPromises(guarded)
  if (broken.length > 0) return broken.map((promise) => `✘ ${promise}`)
  return [`✔ Exactly ${SALE.units} sold, each unit once: through a crash, a pause and a late write.`]
}

function rowOf(tally: SaleTally): string[] {
  return [
    tally.phase,
    String(tally.stock),
    String(tally.sold),
    String(tally.oversoldBy),
    String(tally.unitsSoldTwice),
    tally.lateWritesRefused === null ? '-' : String(tally.lateWritesRefused),
    `${tally.seconds.toFixed(1)} s`,
  ]
}

function coloured(paint: DemoScreen['paint'], row: string): string {
  return row
    .replace(/█+/g, (cells) => paint('green', cells))
    .replace(/·+/g, (cells) => paint('dim', cells))
    .replace(/┄+/g, (cells) => paint('yellow', cells))
    .replace(/[✖⊘]/g, (cell) => paint(['red', 'bold'], cell))
}
