import type { BarKind, Tone } from '../../figures.ts'

/**
 * Colours by what they mean, for a light and a dark ground. A picture carries its own, so that it can be shown by itself
 * as well as in the page.
 */
const COLOURS = {
  ground: ['#ffffff', '#14171c'],
  text: ['#1d232b', '#e6e9ee'],
  faint: ['#5d6875', '#9aa5b1'],
  rule: ['#dde2e8', '#2c333c'],
  waits: ['#c9d1da', '#46505c'],
  inside: ['#2e9e5b', '#2f9a5c'],
  key: ['#2f6fb7', '#3d7cc2'],
  paused: ['#e0a526', '#e3b04a'],
  stray: ['#e8a33d', '#d9963a'],
  overlap: ['#d43c3c', '#ff6b6b'],
  bad: ['#d43c3c', '#ff6b6b'],
  good: ['#2e9e5b', '#3fb872'],
  plain: ['#2f6fb7', '#5d9fe6'],
  line0: ['#d43c3c', '#ff6b6b'],
  line1: ['#b57a00', '#e3b04a'],
  line2: ['#2e9e5b', '#3fb872'],
  line3: ['#2f6fb7', '#5d9fe6'],
} as const

type Colour = keyof typeof COLOURS

export function colourOf(kind: BarKind | Tone | Colour): string {
  return `var(--${kind})`
}

export function lineColour(at: number): string {
  return colourOf(`line${at % 4}` as Colour)
}

function variables(ground: 0 | 1): string {
  return Object.entries(COLOURS)
    .map(([name, pair]) => `--${name}:${pair[ground]}`)
    .join(';')
}

export const STYLE = [
  `:root{color-scheme:light dark;${variables(0)}}`,
  `@media (prefers-color-scheme:dark){:root{${variables(1)}}}`,
].join('')

const FONT = "font-family:system-ui,'Segoe UI','Noto Sans','DejaVu Sans',sans-serif"

export const PICTURE_STYLE = `${STYLE}text{${FONT};font-size:13px;fill:var(--text)}.faint{fill:var(--faint);font-size:12px}.title{font-size:15px;font-weight:600}.mono{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:12px}.on{fill:#fff;font-weight:600;font-size:12px}`
