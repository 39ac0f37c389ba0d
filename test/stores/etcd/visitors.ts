import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const SCRIPT = fileURLToPath(new URL('./visitor.ts', import.meta.url))

interface Visit {
  readonly who: number
  readonly token: bigint
  readonly fromMs: number
  readonly untilMs: number
}

/** Processes that want one key, and what they tell: it is checked here, by somebody who knows nothing of locks. */
export class Visitors {
  readonly visits: Visit[] = []
  private readonly children: ChildProcess[] = []
  private readonly errors: string[] = []

  constructor(count: number, endpoints: readonly string[], key: string, ttlMs: number) {
    for (let who = 0; who < count; who++) {
      const args = ['--import', 'tsx', SCRIPT, endpoints.join(','), key, String(ttlMs)]
      const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] })
      this.children.push(child)
      child.stderr.on('data', (chunk) => this.errors.push(String(chunk)))
      createInterface({ input: child.stdout }).on('line', (line) => {
        const { token, fromMs, untilMs } = JSON.parse(line) as {
          token: string
          fromMs: number
          untilMs: number
        }
        this.visits.push({ who, token: BigInt(token), fromMs, untilMs })
      })
    }
  }

  /** From now on everybody comes in again within that time. */
  async allCome(withinMs: number): Promise<void> {
    const from = this.visits.length
    const giveUpAtMs = performance.now() + withinMs
    for (;;) {
      const seen = new Set(this.visits.slice(from).map(({ who }) => who))
      if (seen.size === this.children.length) return
      if (performance.now() > giveUpAtMs)
        throw new Error(`only ${[...seen]} came within ${withinMs} ms; ${this.errors.join('')}`)
      await sleep(10)
    }
  }

  pid(who: number): number {
    return this.children[who]?.pid as number
  }

  async end(): Promise<void> {
    for (const child of this.children) {
      const ended = once(child, 'exit')
      child.stdin?.end()
      const [code] = await ended
      if (code !== 0) throw new Error(`a visitor ended with ${code}: ${this.errors.join('')}`)
    }
  }

  /** For a test that failed. */
  kill(): void {
    for (const child of this.children) child.kill('SIGKILL')
  }

  /** What contradicts the promise of a lock: two inside at once, or a token that does not rise. */
  contradictions(): string[] {
    const ordered = this.visits.toSorted((one, other) => one.fromMs - other.fromMs)
    return ordered.flatMap((visit, index) => {
      const before = ordered[index - 1]
      if (before === undefined) return []
      const found: string[] = []
      if (visit.fromMs < before.untilMs)
        found.push(`${visit.who} came in ${before.untilMs - visit.fromMs} ms before ${before.who} was out`)
      if (visit.token <= before.token) found.push(`token ${visit.token} after ${before.token}`)
      return found
    })
  }
}
