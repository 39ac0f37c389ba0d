import { FakeRuntime } from 'holdfast/testing'
import { expect, test } from 'vitest'
import type { StoreNotice } from '../../../src/core/store.ts'
import type { Claim, Mode } from '../../../src/model/index.ts'
import { QuorumStore } from '../../../src/stores/quorum/store.ts'
import { ModelNode, ModelServer } from './model-node.ts'
import { claimOf } from './voter.ts'

const NODES = 5
const TTL_MS = 30_000

/** A process with one claim, which waits as the core does: one attempt, then renewals, and a further one when it is told to. */
class Waiter {
  readonly store: QuorumStore
  readonly claim: Claim
  private readonly runtime: FakeRuntime
  private wake: (() => void) | null = null
  private told = false

  constructor(servers: readonly ModelServer[], runtime: FakeRuntime, mode: Mode, id: string) {
    this.runtime = runtime
    this.claim = { ...claimOf(mode), id, ttlMs: TTL_MS }
    this.store = new QuorumStore(
      servers.map((server) => new ModelNode(server)),
      runtime,
      () => 500,
    )
    this.store.notices((notice) => this.hear(notice))
  }

  async granted(): Promise<bigint> {
    for (;;) {
      const [answer] = await this.store.attempt([this.claim])
      if (answer?.kind === 'granted') return answer.token as bigint
      expect(answer).toMatchObject({ kind: 'blocked' })
      let position = answer?.kind === 'blocked' ? answer.position : 0
      while (!(await this.rest(position <= 2 ? 1000 : TTL_MS / 3)) && position > 2) {
        const [renewal] = await this.store.renew([this.claim])
        if (renewal?.kind !== 'waiting') break
        position = renewal.position
      }
    }
  }

  async release(): Promise<void> {
    expect(await this.store.release([this.claim])).toEqual([{ kind: 'released' }])
  }

  private hear({ kind, id }: StoreNotice): void {
    if (kind !== 'retry' || id !== this.claim.id) return
    this.told = true
    this.wake?.()
  }

  /** True when it was told to retry. */
  private async rest(forMs: number): Promise<boolean> {
    if (!this.told)
      await new Promise<void>((resolve) => {
        const timer = this.runtime.setTimer(resolve, forMs, true)
        this.wake = () => {
          timer.clear()
          resolve()
        }
      })
    const { told } = this
    this.told = false
    this.wake = null
    return told
  }
}

interface Told {
  readonly served: number
  readonly tookMs: number
  readonly mostAtOnce: number
  /** Claims that a node was asked about, for each that was served. */
  readonly claimsEach: number
}

/** A crowd that comes while somebody holds the key, or all at once to a free one. */
async function crowd(count: number, mode: Mode, isHeld: boolean, seed: number, workMs = 2): Promise<Told> {
  const runtime = new FakeRuntime(seed)
  const servers = Array.from({ length: NODES }, (_, place) => new ModelServer(`node ${place}`, runtime))
  const holder = new Waiter(servers, runtime, isHeld ? { kind: 'exclusive' } : mode, 'holder')
  if (isHeld) await runtime.until(holder.granted())
  const waiters = Array.from(
    { length: count },
    (_, place) => new Waiter(servers, runtime, mode, `waiter ${place}`),
  )
  const tokens: bigint[] = []
  let [inside, mostAtOnce, served] = [0, 0, 0]
  const runs = waiters.map(async (waiter) => {
    const token = await waiter.granted()
    expect(tokens).not.toContain(token)
    tokens.push(token)
    mostAtOnce = Math.max(mostAtOnce, ++inside)
    await new Promise<void>((resolve) => void runtime.setTimer(resolve, workMs, true))
    inside--
    await waiter.release()
    served++
  })
  if (isHeld) await runtime.advance(50)
  for (const { asked } of servers) asked.clear()
  const beganMs = runtime.nowMs()
  if (isHeld) await runtime.until(holder.release())
  await runtime.until(Promise.all(runs))
  const tookMs = runtime.nowMs() - beganMs
  if (mode.kind === 'exclusive') expect(tokens).toEqual([...tokens].sort((a, b) => (a < b ? -1 : 1)))
  const claims = Math.max(...servers.map(({ asked }) => asked.get('claim') ?? 0))
  await runtime.until(Promise.all([holder, ...waiters].map(({ store }) => store.close())))
  return { served, tookMs, mostAtOnce, claimsEach: claims / count }
}

const exclusive: Mode = { kind: 'exclusive' }

test.each([
  ['200 behind a holder', 200, true],
  ['100 that come at once to a free key', 100, false],
] as const)('a crowd of %s is served one by one, each after about two votes', async (_, count, isHeld) => {
  for (const seed of [1, 2]) {
    const { served, tookMs, mostAtOnce, claimsEach } = await crowd(count, exclusive, isHeld, seed)
    expect({ served, mostAtOnce }).toEqual({ served: count, mostAtOnce: 1 })
    expect(claimsEach).toBeLessThan(isHeld ? 2 : 3)
    // A turn is a release, a call, a round of votes and the work: nobody waits for a timer.
    expect(tookMs / count).toBeLessThan(25)
  }
})

test('a crowd of 100 on a semaphore uses its permits, and never more', async () => {
  const permits: Mode = { kind: 'permits', limit: 10, weight: 1 }
  const { served, tookMs, mostAtOnce, claimsEach } = await crowd(100, permits, false, 1, 50)
  expect(served).toBe(100)
  expect(mostAtOnce).toBeLessThanOrEqual(10)
  expect(mostAtOnce).toBeGreaterThan(4)
  expect(claimsEach).toBeLessThan(3)
  // Half a second of work for each permit.
  expect(tookMs).toBeLessThan(1000)
})

test('a crowd of 50 readers is let in together when the writer leaves', async () => {
  const { served, tookMs, claimsEach } = await crowd(50, { kind: 'shared' }, true, 1)
  expect(served).toBe(50)
  expect(claimsEach).toBeLessThan(3)
  expect(tookMs).toBeLessThan(300)
})
