/** A picture out of rectangles, lines and words, all that a timeline needs. */
export class Picture {
  private readonly parts: string[] = []
  private readonly width: number
  private readonly height: number

  constructor(width: number, height: number) {
    this.width = width
    this.height = height
  }

  box(x: number, y: number, width: number, height: number, style: string, hint = ''): void {
    const title = hint === '' ? '' : `<title>${escaped(hint)}</title>`
    this.parts.push(
      `<rect x="${round(x)}" y="${round(y)}" width="${round(Math.max(1, width))}" height="${round(height)}" class="${style}">${title}</rect>`,
    )
  }

  line(points: readonly (readonly [number, number])[], style: string): void {
    this.parts.push(
      `<polyline points="${points.map(([x, y]) => `${round(x)},${round(y)}`).join(' ')}" class="${style}"/>`,
    )
  }

  text(x: number, y: number, text: string, style = 'label'): void {
    this.parts.push(`<text x="${round(x)}" y="${round(y)}" class="${style}">${escaped(text)}</text>`)
  }

  toString(): string {
    const size = `width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"`
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img"><style>${STYLE}</style>${this.parts.join('')}</svg>`
  }
}

const STYLE = [
  'svg{background:#fff;font:11px system-ui,sans-serif}',
  '.label{fill:#333}.faint{fill:#888}',
  '.fault{fill:#e4572e}.band{fill:#e4572e;opacity:.14}.row{fill:#f4f4f4}',
  '.lease{fill:#2e86ab}.shared{fill:#7fb685}.permits{fill:#b58db6}.guilty{fill:#c1121f}.wait{fill:#cfd8dc}',
  '.refused{fill:#c1121f}.accepted{fill:#1b5e20}',
  '.rate{fill:none;stroke:#2e86ab;stroke-width:1.5}.axis{fill:none;stroke:#bbb}',
].join('')

export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10)
}
