import { paintFor } from '../output.ts'
import { cut } from '../text.ts'
import { SALE } from './messages.ts'

const REDRAW_MS = 80
const LINE_EVERY_MS = 1_000
const BAR_CELLS = 30
const CLEAR_LINE = '\r\x1b[K'

/** The output: permanent lines and, on a terminal, one moving line below. Silent in data mode. */
export class DemoScreen {
  readonly paint = paintFor(process.stdout)
  private readonly silent: boolean
  private readonly live = process.stdout.isTTY === true
  private timer: NodeJS.Timeout | undefined
  private status: (() => string) | null = null

  constructor(silent: boolean) {
    this.silent = silent
  }

  line(text = ''): void {
    if (this.silent) return
    process.stdout.write(this.status !== null && this.live ? `${CLEAR_LINE}${text}\n` : `${text}\n`)
    this.draw()
  }

  /** Starts a moving line; on a pipe it becomes a line a second. */
  follow(status: () => string): void {
    this.status = status
    const tick = this.live ? () => this.draw() : () => this.line(this.status?.())
    if (!this.silent) this.timer = setInterval(tick, this.live ? REDRAW_MS : LINE_EVERY_MS)
  }

  /** Leaves the moving line in its last state. */
  settle(): void {
    clearInterval(this.timer)
    const last = this.status?.()
    this.status = null
    if (last !== undefined && !this.silent)
      process.stdout.write(this.live ? `${CLEAR_LINE}${last}\n` : `${last}\n`)
  }

  /** Removes the moving line. */
  clear(): void {
    clearInterval(this.timer)
    if (this.status !== null && this.live && !this.silent) process.stdout.write(CLEAR_LINE)
    this.status = null
  }

  private draw(): void {
    if (this.silent || !this.live || this.status === null) return
    process.stdout.write(`${CLEAR_LINE}${this.status()}`)
  }
}

/** `████████░░░░  61 of 100 sold`, and in red what was sold beyond the stock. */
export function progress(paint: DemoScreen['paint'], sold: number, startedAtMs: number): string {
  const seconds = `${((Date.now() - startedAtMs) / 1_000).toFixed(1)} s`.padStart(7)
  const cells = Math.min(BAR_CELLS, Math.round((sold / SALE.units) * BAR_CELLS))
  const excess = sold > SALE.units
  const bar = paint(excess ? 'red' : 'green', '█'.repeat(cells)) + paint('dim', '░'.repeat(BAR_CELLS - cells))
  const beyond = excess ? paint(['red', 'bold'], `  ${sold - SALE.units} too many`) : ''
  return `${seconds}  ${bar}  ${sold} sold of ${SALE.units}${beyond}`
}

/** For text without colours. */
export function fitted(text: string): string {
  return process.stdout.columns === undefined ? text : cut(text, process.stdout.columns - 1)
}
