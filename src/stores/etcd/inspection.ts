import type { ClockFact, Fact, InspectOptions, Remains } from '../../core/facts.ts'
import type { Runtime } from '../../core/runtime.ts'
import type { EtcdClient } from './client/client.ts'
import type { KeyValue } from './client/responses.ts'
import { type ClaimValue, parseValue } from './format.ts'
import { LOCKS, OURS, parseClaimName } from './names.ts'
import { pagesOf } from './read.ts'

/** Smaller offsets are not reported. */
const CLOCK_LIMIT_MS = 10_000

/** Finds orphaned keys, foreign keys without a lease, and the clock offsets that claims show. */
export class Inspection {
  private readonly client: EtcdClient
  private readonly runtime: Runtime

  constructor(client: EtcdClient, runtime: Runtime) {
    this.client = client
    this.runtime = runtime
  }

  async *facts({ foreign }: InspectOptions): AsyncIterable<Fact> {
    const claims: ClaimStamp[] = []
    for await (const kv of pagesOf(this.client, LOCKS.key, LOCKS.end)) {
      const { key, section } = parseClaimName(kv.key)
      if (kv.lease === 0n)
        yield remains('orphan', kv, `a claim on ${JSON.stringify(key)} that is bound to no lease`)
      else if (section !== 'shut' && section !== 'wait') claims.push(...stampOf(kv))
    }
    yield* clocksOf(claims, this.runtime.wallMs())
    for (const pattern of foreign) yield* this.foreign(pattern)
    yield {
      kind: 'unseen',
      what: 'how the members are set up, and their clocks',
      why: 'etcd does not tell its clients',
    }
  }

  /** Deletes each key unless it was written since its inspection. */
  async reap(all: readonly Remains[]): Promise<readonly boolean[]> {
    const removed: boolean[] = []
    for (const { name, kind, proof } of all) {
      if (kind === 'foreign' && name.startsWith(OURS)) {
        removed.push(false)
        continue
      }
      const { succeeded } = await this.client.txn({
        compare: [
          { target: 'mod', key: name, is: '=', value: Number(proof) },
          { target: 'lease', key: name, is: '=', value: 0n },
        ],
        success: [{ kind: 'delete', key: name }],
      })
      removed.push(succeeded)
    }
    return removed
  }

  private async *foreign(pattern: string): AsyncIterable<Fact> {
    const [start = ''] = pattern.split('*', 1)
    const parts = pattern.split('*').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
    const whole = new RegExp(`^${parts.join('[^]*')}$`, 'u')
    for await (const kv of pagesOf(this.client, start, '\0'))
      if (!kv.key.startsWith(start)) return
      else if (kv.lease === 0n && whole.test(kv.key) && !kv.key.startsWith(OURS))
        yield remains('foreign', kv, 'a key that is bound to no lease')
  }
}

/** The time of a claim, by etcd's revision and by the wall clock of its process. */
interface ClaimStamp {
  readonly label: string
  readonly revision: number
  readonly wallMs: number
}

/** Values in another format have no known stamp. */
function stampOf(kv: KeyValue): ClaimStamp[] {
  const value = parseValue<ClaimValue>(kv.value)
  return value === null ? [] : [{ label: value.label, revision: kv.changed, wallMs: value.sinceMs }]
}

/**
 * The clock of a claim with a stamp in the future is ahead. The clock of a claim that was written after another one, but has a
 * stamp long before it, is behind.
 */
function* clocksOf(claims: readonly ClaimStamp[], nowMs: number): Iterable<ClockFact> {
  let latestMs = Number.NEGATIVE_INFINITY
  for (const { label, wallMs } of [...claims].sort((one, other) => one.revision - other.revision)) {
    const aheadMs = wallMs > nowMs ? wallMs - nowMs : Math.min(0, wallMs - latestMs)
    if (Math.abs(aheadMs) > CLOCK_LIMIT_MS) yield { kind: 'clock', whose: label, aheadMs }
    if (wallMs <= nowMs) latestMs = Math.max(latestMs, wallMs)
  }
}

function remains(kind: Remains['kind'], { key, changed }: KeyValue, what: string): Remains {
  return { kind, name: key, what, count: 1, blocking: true, idleMs: null, proof: String(changed) }
}
