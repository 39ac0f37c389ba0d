import type { Figure } from '../../figures.ts'
import { barsSvg } from './bars.ts'
import { plotSvg } from './plot.ts'
import { tableSvg } from './table.ts'
import { timelineSvg } from './timeline.ts'

/** The figure as a picture that stands by itself. */
export function svgOf(figure: Figure): string {
  switch (figure.kind) {
    case 'timeline':
      return timelineSvg(figure)
    case 'plot':
      return plotSvg(figure)
    case 'bars':
      return barsSvg(figure)
    case 'table':
      return tableSvg(figure)
  }
}
