import { escaped, STYLE, shown } from './plot.ts'

export interface Curve {
  readonly name: string
  readonly kind: 'ours' | 'peer'
  readonly points: readonly (readonly [x: number, y: number])[]
}

export interface CurvePanel {
  readonly title: string
  /** The names of the axes; both are logarithmic. */
  readonly x: string
  readonly y: string
  readonly curves: readonly Curve[]
}

const COLUMNS = 2
const PANEL = { width: 360, height: 190, left: 52, right: 118, top: 44, bottom: 44, gap: 20 }
const FOOT = 22
/** The least distance of two names at the ends of curves. */
const LINE = 12
/** Told apart on light and on dark pages. */
const COLOURS = ['#0a7f5a', '#b7791f', '#c2410c', '#2563eb', '#7c3aed', '#0891b2', '#be185d', '#4d7c0f']
const CURVES =
  '.curve { fill: none; stroke-width: 2 } .peer-curve { stroke-dasharray: 4 3 } .grid { stroke: #8c959f; stroke-opacity: 0.3 }'

/** Curves over logarithmic axes: what costs the same whatever its number is stays flat. A name has one colour in all panels. */
export function plotCurves(panels: readonly CurvePanel[], note: string): string {
  const names = [...new Set(panels.flatMap(({ curves }) => curves.map(({ name }) => name)))]
  const colourOf = (name: string): string => COLOURS[names.indexOf(name) % COLOURS.length] as string
  const each = {
    width: PANEL.left + PANEL.width + PANEL.right,
    height: PANEL.top + PANEL.height + PANEL.bottom,
  }
  const width = COLUMNS * each.width + (COLUMNS - 1) * PANEL.gap
  const total = Math.ceil(panels.length / COLUMNS) * each.height + FOOT
  const drawn = panels.map((panel, index) => {
    const x = (index % COLUMNS) * (each.width + PANEL.gap)
    const y = Math.floor(index / COLUMNS) * each.height
    return `<g transform="translate(${x} ${y})">\n${panelOf(panel, colourOf)}\n</g>`
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${total}" width="${width}" height="${total}">`,
    `<title>${escaped(note)}</title>`,
    `<style>${STYLE}\n  ${CURVES}\n</style>`,
    ...drawn,
    `<text class="note" x="0" y="${total - 6}">${escaped(note)}</text>`,
    '</svg>\n',
  ].join('\n')
}

function panelOf({ title, x, y, curves }: CurvePanel, colourOf: (name: string) => string): string {
  const points = curves.flatMap((curve) => curve.points)
  const across = axis(
    points.map(([value]) => value),
    PANEL.left,
    PANEL.left + PANEL.width,
  )
  const up = axis(
    points.map(([, value]) => value),
    PANEL.top + PANEL.height,
    PANEL.top,
  )
  const bottom = PANEL.top + PANEL.height
  const ends = spread(curves.map(({ points }) => up.at(points.at(-1)?.[1] ?? 1)))
  const lines = curves.map(({ name, kind, points }, index) => {
    const path = points.map(([one, other]) => `${across.at(one).toFixed(1)},${up.at(other).toFixed(1)}`)
    const colour = colourOf(name)
    const dots = path.map((point) => {
      const [cx, cy] = point.split(',')
      return `<circle cx="${cx}" cy="${cy}" r="2.5" fill="${colour}"/>`
    })
    const dashed = kind === 'peer' ? ' peer-curve' : ''
    const label = `<text x="${PANEL.left + PANEL.width + 8}" y="${((ends[index] as number) + 4).toFixed(1)}">${escaped(name)}</text>`
    const end = path.at(-1)?.split(',')
    const leader = `<line class="grid" x1="${end?.[0]}" y1="${end?.[1]}" x2="${PANEL.left + PANEL.width + 6}" y2="${(ends[index] as number).toFixed(1)}"/>`
    return `<polyline class="curve${dashed}" stroke="${colour}" points="${path.join(' ')}"/>${dots.join('')}${leader}${label}`
  })
  return [
    `<text class="title" x="0" y="14">${escaped(title)}</text>`,
    `<text class="unit" x="0" y="30">${escaped(y)}</text>`,
    ...up.ticks.map(
      (tick) =>
        `<line class="grid" x1="${PANEL.left}" x2="${PANEL.left + PANEL.width}" y1="${up.at(tick).toFixed(1)}" y2="${up.at(tick).toFixed(1)}"/><text class="unit" x="${PANEL.left - 6}" y="${(up.at(tick) + 3).toFixed(1)}" text-anchor="end">${shown(tick)}</text>`,
    ),
    ...across.ticks.map(
      (tick) =>
        `<text class="unit" x="${across.at(tick).toFixed(1)}" y="${bottom + 14}" text-anchor="middle">${shown(tick)}</text>`,
    ),
    `<text class="unit" x="${PANEL.left + PANEL.width / 2}" y="${bottom + 28}" text-anchor="middle">${escaped(x)}</text>`,
    ...lines,
  ].join('\n')
}

/** Whole powers of ten around the values. */
function axis(values: readonly number[], from: number, to: number) {
  const low = Math.floor(Math.log10(Math.min(...values)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))))
  const ticks = Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index))
  const at = (value: number): number => from + ((Math.log10(value) - low) / (high - low)) * (to - from)
  return { ticks, at }
}

/** Moves names apart that would lie on one another, in their order from the top. */
function spread(wanted: readonly number[]): number[] {
  const order = wanted.map((_, index) => index).toSorted((one, other) => wanted[one]! - wanted[other]!)
  const placed = [...wanted]
  let last = Number.NEGATIVE_INFINITY
  for (const index of order) {
    last = Math.max(placed[index] as number, last + LINE)
    placed[index] = last
  }
  return placed
}
