import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { untilMet } from '../patience.ts'

const SCRIPT = fileURLToPath(new URL('./visitor.ts', import.meta.url))

interface Visit {
  readonly who: number
  readonly key: string
  readonly token: bigint
  readonly fromMs: number
  /** Null for one that has only begun. */
  readonly untilMs: number | null
}

export interface VisitorsOptions {
  readonly url: string
  readonly ttlMs: number
  readonly role: 'worker' | 'candidate'
  /** The keys of each process. */
  readonly keys: readonly (readonly string[])[]
}

/** Processes that want the same keys, and what they tell: it is checked here, by somebody who knows nothing of locks. */
export class Visitors {
  readonly visits: Visit[] = []
  readonly beginnings: Visit[] = []
  private readonly children: ChildProcess[] = []
  private readonly keys: VisitorsOptions['keys']
  private readonly errors: string[] = []

  constructor({ url, ttlMs, role, keys }: VisitorsOptions) {
    this.keys = keys
    for (const [who, own] of keys.entries()) {
      const args = ['--import', 'tsx', SCRIPT, url, String(ttlMs), role, ...own]
      const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] })
      this.children.push(child)
      child.stderr.on('data', (chunk) => this.errors.push(String(chunk)))
      createInterface({ input: child.stdout }).on('line', (line) => {
        const told = JSON.parse(line) as Omit<Visit, 'who' | 'token'> & { token: string }
        const visit = { ...told, who, token: BigInt(told.token) }
        if (visit.untilMs === null) this.beginnings.push(visit)
        else this.visits.push(visit)
      })
    }
  }

  /** From now on everybody comes to all of its keys again, within that time. */
  async allCome(withinMs: number): Promise<void> {
    const from = this.visits.length
    const missing = (): string[] => {
      const seen = new Set(this.visits.slice(from).map(({ who, key }) => `${who} at ${key}`))
      const wanted = this.keys.flatMap((own, who) => own.map((key) => `${who} at ${key}`))
      return wanted.filter((each) => !seen.has(each))
    }
    await this.until(
      () => missing().length === 0,
      withinMs,
      () => `nobody saw ${missing().join(', ')}`,
    )
  }

  /** The leader of a key after the first `count` of its leaders have begun. */
  async nextLeader(count: number, withinMs: number): Promise<number> {
    await this.until(
      () => this.beginnings.length > count,
      withinMs,
      () => `no leader but ${count}`,
    )
    return (this.beginnings[count] as Visit).who
  }

  pause(who: number): () => void {
    process.kill(this.pid(who), 'SIGSTOP')
    return () => process.kill(this.pid(who), 'SIGCONT')
  }

  /** Ends one as a crash would, the others in good order. */
  async end({ crash }: { crash?: number } = {}): Promise<void> {
    const ends = this.children.map(async (child, who) => {
      const ended = once(child, 'exit')
      if (who === crash) child.kill('SIGKILL')
      else child.stdin?.end()
      const [code] = await ended
      if (who !== crash && code !== 0)
        throw new Error(`visitor ${who} ended with ${code}: ${this.errors.join('')}`)
    })
    await Promise.all(ends)
  }

  /** For a test that failed. */
  kill(): void {
    for (const child of this.children) child.kill('SIGKILL')
  }

  /** Contradictions to the promise of a lock: two inside at once, or a token that does not rise. */
  contradictions(): string[] {
    const keys = new Set(this.visits.map(({ key }) => key))
    return [...keys].flatMap((key) => contradictionsOf(this.visits.filter((visit) => visit.key === key)))
  }

  private pid(who: number): number {
    return this.children[who]?.pid as number
  }

  private until(met: () => boolean, withinMs: number, problem: () => string): Promise<void> {
    return untilMet(met, withinMs, () => `${problem()} within ${withinMs} ms; ${this.errors.join('')}`)
  }
}

function contradictionsOf(visits: readonly Visit[]): string[] {
  const ordered = visits.toSorted((one, other) => one.fromMs - other.fromMs)
  let outAtMs = 0
  return ordered.flatMap(({ who, key, token, fromMs, untilMs }, index) => {
    const before = ordered[index - 1]
    const found: string[] = []
    if (fromMs < outAtMs) found.push(`${key}: ${who} came in ${outAtMs - fromMs} ms before another was out`)
    if (before !== undefined && token <= before.token)
      found.push(`${key}: token ${token} after ${before.token}`)
    outAtMs = Math.max(outAtMs, untilMs ?? 0)
    return found
  })
}
