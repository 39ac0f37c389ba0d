import { PICTURE_STYLE } from './style.ts'

type Attributes = Readonly<Record<string, string | number | undefined>>

export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** Numbers are rounded, so that a picture does not change with the last digit of a measurement. */
export function element(name: string, attributes: Attributes, content = ''): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(
      ([key, value]) =>
        ` ${key}="${typeof value === 'number' ? Math.round(value * 10) / 10 : escaped(value!)}"`,
    )
    .join('')
  return content === '' ? `<${name}${written}/>` : `<${name}${written}>${content}</${name}>`
}

export function text(x: number, y: number, content: string, attributes: Attributes = {}): string {
  const { fill, style, ...rest } = attributes
  // A colour of its own has to be a style: the style sheet outranks attributes.
  const styles = [style, fill && `fill:${fill}`].filter(Boolean).join(';') || undefined
  return element('text', { x, y, ...rest, style: styles }, escaped(content))
}

export function rectangle(
  x: number,
  y: number,
  width: number,
  height: number,
  attributes: Attributes,
): string {
  return element('rect', { x, y, width: Math.max(width, 1.5), height, ...attributes })
}

export function line(x1: number, y1: number, x2: number, y2: number, attributes: Attributes): string {
  return element('line', { x1, y1, x2, y2, ...attributes })
}

/** A picture that stands by itself, with a text for those who do not see it. */
export function picture(width: number, height: number, title: string, body: readonly string[]): string {
  const head = element('title', {}, escaped(title)) + element('style', {}, PICTURE_STYLE)
  const ground = element('rect', { width, height, rx: 8, fill: 'var(--ground)' })
  return element(
    'svg',
    { xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img' },
    `${head}${ground}\n${body.join('\n')}\n`,
  )
}

/** About how wide a text is: letters of different fonts differ, so this is on the wide side. */
export function widthOfText(content: string, size = 13): number {
  return content.length * size * 0.56
}
