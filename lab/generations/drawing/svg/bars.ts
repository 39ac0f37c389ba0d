import type { Bars } from '../../figures.ts'
import { line, picture, rectangle, text } from './markup.ts'
import { colourOf } from './style.ts'

const WIDTH = 860
const LEFT = 190
const RIGHT = 270
const TOP = 52
const LANE = 38

/** Amounts beside each other. */
export function barsSvg({ title, bars, limit }: Bars): string {
  const most = Math.max(...bars.map(({ value }) => value), limit?.value ?? 0, 1)
  const xOf = (value: number): number => LEFT + (value / most) * (WIDTH - LEFT - RIGHT)
  const bottom = TOP + bars.length * LANE
  const rows = bars.flatMap(({ name, value, tone, remark }, at) => {
    const y = TOP + at * LANE
    return [
      text(LEFT - 12, y + 17, name, { 'text-anchor': 'end' }),
      value > 0 ? rectangle(LEFT, y, xOf(value) - LEFT, 24, { rx: 3, fill: colourOf(tone) }) : '',
      text(Math.max(xOf(value), LEFT) + 10, y + 17, remark, { class: 'faint' }),
    ]
  })
  const mark =
    limit === null
      ? []
      : [
          line(xOf(limit.value), TOP - 8, xOf(limit.value), bottom, {
            stroke: colourOf('text'),
            'stroke-dasharray': '4 3',
          }),
          text(xOf(limit.value), bottom + 16, limit.name, { class: 'faint', 'text-anchor': 'middle' }),
        ]
  const axis = line(LEFT, TOP - 8, LEFT, bottom - 6, { stroke: colourOf('rule') })
  return picture(WIDTH, bottom + 30, title, [text(16, 28, title, { class: 'title' }), axis, ...rows, ...mark])
}
