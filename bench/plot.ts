export interface Bar {
  readonly name: string
  readonly value: number
  readonly kind: 'ours' | 'raw' | 'peer'
}

export interface Panel {
  readonly title: string
  /** The figure of the bars, and which way is better. */
  readonly unit: string
  readonly bars: readonly Bar[]
}

const COLUMNS = 3
const PANEL = { bars: 156, gap: 24, values: 46 }
/** Of a letter of a name, which fonts draw in different widths: as wide as a wide one. */
const LETTER = 7.4
const TEXT = { bar: 15, head: 40, foot: 18 }

export const STYLE = `
  text { font: 11px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600; font-size: 12px }
  .unit, .note { fill: #59636e; font-size: 10px }
  .ours { fill: #0a7f5a } .raw { fill: #8c959f } .peer { fill: #c8cdd3 }
  text.ours { fill: #0a7f5a; font-weight: 600 } text.raw, text.peer { fill: #1f2328 }
  @media (prefers-color-scheme: dark) {
    text, text.raw, text.peer { fill: #e6edf3 } .unit, .note { fill: #9198a1 }
    .ours, text.ours { fill: #3fb68b } rect.raw { fill: #6e7681 } rect.peer { fill: #3d444d }
  }`

/** Bar charts side by side, as SVG that is readable on light and on dark pages. */
export function plot(panels: readonly Panel[], note: string): string {
  const rows = Math.ceil(panels.length / COLUMNS)
  const height = TEXT.head + Math.max(...panels.map(({ bars }) => bars.length)) * TEXT.bar + TEXT.foot
  const names = Math.ceil(LETTER * longest(panels)) + 6
  const each = names + PANEL.bars + PANEL.values
  const width = COLUMNS * each + (COLUMNS - 1) * PANEL.gap
  const total = rows * height + TEXT.foot
  const drawn = panels.map((panel, index) => {
    const x = (index % COLUMNS) * (each + PANEL.gap)
    const y = Math.floor(index / COLUMNS) * height
    return `<g transform="translate(${x} ${y})">\n${panelOf(panel, names)}\n</g>`
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${total}" width="${width}" height="${total}">`,
    `<title>${escaped(note)}</title>`,
    `<style>${STYLE}\n</style>`,
    ...drawn,
    `<text class="note" x="0" y="${total - 4}">${escaped(note)}</text>`,
    '</svg>\n',
  ].join('\n')
}

function longest(panels: readonly Panel[]): number {
  return Math.max(...panels.flatMap(({ bars }) => bars.map(({ name }) => name.length)))
}

function panelOf({ title, unit, bars }: Panel, names: number): string {
  const most = Math.max(...bars.map(({ value }) => value))
  const lines = bars.map(({ name, value, kind }, index) => {
    const y = TEXT.head + index * TEXT.bar
    const length = Math.max(1, (value / most) * PANEL.bars).toFixed(1)
    return [
      `<text class="${kind}" x="${names - 6}" y="${y + 10}" text-anchor="end">${escaped(name)}</text>`,
      `<rect class="${kind}" x="${names}" y="${y + 1}" width="${length}" height="${TEXT.bar - 4}" rx="2"/>`,
      `<text class="${kind}" x="${names + Number(length) + 5}" y="${y + 10}">${shown(value)}</text>`,
    ].join('')
  })
  return [
    `<text class="title" x="0" y="14">${escaped(title)}</text>`,
    `<text class="unit" x="0" y="29">${escaped(unit)}</text>`,
    ...lines,
  ].join('\n')
}

export function shown(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2
  return value.toLocaleString('en', { maximumFractionDigits: digits })
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
