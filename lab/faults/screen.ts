const QUIET_MS = 30_000

/** One line that says what goes on, and the lines that stay. */
export class Screen {
  private readonly states = new Map<string, string>()
  private readonly live = process.stderr.isTTY === true
  private saidMs = performance.now()

  progress(who: string, text: string): void {
    this.states.set(who, text)
    const line = [...this.states].map(([name, state]) => `${name}: ${state}`).join(' | ')
    if (this.live) process.stderr.write(`\r\u001B[K${line.slice(0, (process.stderr.columns ?? 100) - 1)}`)
    else if (performance.now() - this.saidMs > QUIET_MS) {
      this.saidMs = performance.now()
      process.stderr.write(`${line}\n`)
    }
  }

  say(line: string): void {
    this.end()
    console.log(line)
  }

  end(): void {
    if (this.live) process.stderr.write('\r\u001B[K')
  }
}
