import type { Plot } from '../../figures.ts'
import { shortly } from '../terminal/plot.ts'
import { element, line, picture, text, widthOfText } from './markup.ts'
import { colourOf, lineColour } from './style.ts'

const WIDTH = 860
const HEIGHT = 340
const LEFT = 76
const RIGHT = 130
const TOP = 64
const BOTTOM = 288
const STEPS = 4
const LABEL = 16

/** Measured points, joined in their order. */
export function plotSvg({ title, across, up, places, lines }: Plot): string {
  const most = Math.max(...lines.flatMap(({ values }) => values), Number.MIN_VALUE)
  const xOf = (at: number): number =>
    LEFT + 20 + (at / Math.max(1, places.length - 1)) * (WIDTH - LEFT - RIGHT - 40)
  const yOf = (value: number): number => BOTTOM - (value / most) * (BOTTOM - TOP)
  const grid = Array.from({ length: STEPS + 1 }, (_, step) => {
    const value = (most * step) / STEPS
    return (
      line(LEFT, yOf(value), WIDTH - RIGHT, yOf(value), { stroke: colourOf('rule') }) +
      text(LEFT - 10, yOf(value) + 4, shortly(value), { class: 'faint', 'text-anchor': 'end' })
    )
  })
  const ticks = places.map((place, at) =>
    text(xOf(at), BOTTOM + 20, String(place), { class: 'faint', 'text-anchor': 'middle' }),
  )
  const curves = lines.map(({ values }, at) => {
    const colour = lineColour(at)
    const points = values.map((value, place) => `${xOf(place).toFixed(1)},${yOf(value).toFixed(1)}`)
    const dots = values.map((value, place) =>
      element('circle', { cx: xOf(place), cy: yOf(value), r: 4, fill: colour }),
    )
    return (
      element('polyline', { points: points.join(' '), fill: 'none', stroke: colour, 'stroke-width': 2.5 }) +
      dots.join('')
    )
  })
  const labels = spread(lines.map(({ values }) => yOf(values.at(-1) ?? 0))).map((y, at) =>
    text(WIDTH - RIGHT + 8, y + 4, lines[at]!.name, { fill: lineColour(at), style: 'font-weight:600' }),
  )
  return picture(WIDTH, HEIGHT, `${title}, ${up}, by number of ${across}`, [
    text(16, 28, title, { class: 'title' }),
    text(24 + widthOfText(title, 16), 28, up, { class: 'faint' }),
    ...grid,
    ...ticks,
    text((LEFT + WIDTH - RIGHT) / 2, BOTTOM + 40, across, { class: 'faint', 'text-anchor': 'middle' }),
    ...curves,
    ...labels,
  ])
}

/** Moves labels apart that would lie on each other; they keep their order. */
function spread(heights: readonly number[]): number[] {
  const order = heights.map((y, at) => ({ y, at })).sort((one, other) => other.y - one.y)
  let last = Number.POSITIVE_INFINITY
  const placed = [...heights]
  for (const { y, at } of order) {
    last = Math.min(y, last - LABEL)
    placed[at] = last
  }
  return placed
}
