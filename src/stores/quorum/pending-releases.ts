import type { Runtime } from '../../core/runtime.ts'
import type { Question } from './protocol.ts'

type Release = Question & { kind: 'release' }

/** Beyond this the oldest are left to their ttl. */
const MOST_RELEASES = 10_000

/** Releases that a node did not get, kept for as long as what they would end can live. */
export class PendingReleases {
  private readonly runtime: Runtime
  private readonly owed = new Map<string, Release>()
  private readonly untilMs = new WeakMap<Release, number>()

  constructor(runtime: Runtime) {
    this.runtime = runtime
  }

  get size(): number {
    return this.owed.size
  }

  add(question: Release): void {
    const { id, ttlMs } = question.claim
    if (!this.untilMs.has(question)) this.untilMs.set(question, this.runtime.nowMs() + ttlMs)
    const owed = this.owed.get(id)
    if (owed === undefined || owed.ballot <= question.ballot) this.owed.set(id, question)
    if (this.owed.size <= MOST_RELEASES) return
    const [oldest] = this.owed.keys()
    if (oldest !== undefined) this.owed.delete(oldest)
  }

  /** All that are still worth delivering; they are no longer owed. */
  take(): Release[] {
    const nowMs = this.runtime.nowMs()
    const due = [...this.owed.values()].filter((question) => (this.untilMs.get(question) ?? 0) > nowMs)
    this.owed.clear()
    return due
  }
}
