import { outputClosed } from '../output.ts'

/** The alternate screen without a cursor; every exit restores both. */
const ENTER = '\x1b[?1049h\x1b[?25l'
const LEAVE = '\x1b[?25h\x1b[?1049l'
const HOME = '\x1b[H'
const TO_END_OF_LINE = '\x1b[K'
const TO_END_OF_SCREEN = '\x1b[J'
const CTRL_C = '\x03'

/** A terminal screen that is redrawn until the user types q or Ctrl-C, or the process is asked to end. */
export class Terminal {
  /** Settles when the user wants to leave. */
  readonly left: Promise<void>
  private readonly stop = new AbortController()

  constructor() {
    process.stdout.write(ENTER)
    const { stdin } = process
    const leave = (): void => this.stop.abort()
    const typed = (keys: Buffer): void => {
      if (/q/i.test(keys.toString()) || keys.includes(CTRL_C)) leave()
    }
    if (stdin.isTTY) {
      stdin.setRawMode(true)
      stdin.on('data', typed)
      stdin.resume()
    }
    process.on('SIGINT', leave)
    process.on('SIGTERM', leave)
    outputClosed.addEventListener('abort', leave)
    this.left = new Promise((resolve) => {
      this.stop.signal.addEventListener('abort', () => {
        process.off('SIGINT', leave)
        process.off('SIGTERM', leave)
        outputClosed.removeEventListener('abort', leave)
        stdin.off('data', typed)
        if (stdin.isTTY) stdin.setRawMode(false)
        stdin.pause()
        process.stdout.write(LEAVE)
        resolve()
      })
    })
  }

  get signal(): AbortSignal {
    return this.stop.signal
  }

  draw(lines: readonly string[]): void {
    if (this.stop.signal.aborted) return
    const text = lines.map((line) => line + TO_END_OF_LINE).join('\r\n')
    process.stdout.write(HOME + text + TO_END_OF_SCREEN)
  }

  close(): void {
    this.stop.abort()
  }
}
