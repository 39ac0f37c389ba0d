import type { Figure } from '../../figures.ts'
import { barRows } from './bars.ts'
import type { Paint } from './paint.ts'
import { plotRows } from './plot.ts'
import { tableRows } from './table.ts'
import { timelineRows } from './timeline.ts'

/** The figure for a terminal of so many columns. */
export function rowsOf(figure: Figure, paint: Paint, columns: number | undefined): string[] {
  switch (figure.kind) {
    case 'timeline':
      return timelineRows(figure, paint, columns)
    case 'plot':
      return plotRows(figure, paint)
    case 'bars':
      return barRows(figure, paint)
    case 'table':
      return tableRows(figure, paint, columns)
  }
}
