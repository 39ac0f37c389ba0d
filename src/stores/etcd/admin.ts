import type { Fact, InspectOptions, Remains } from '../../core/facts.ts'
import type { Admin } from '../../core/store.ts'
import { UnsupportedError } from '../../errors.ts'
import { type EvictAnswer, isInUse, type KeyView, STRANGE_HOLDER, seqOf, viewOf } from '../../model/index.ts'
import type { KeyValue } from './client/responses.ts'
import type { StoreContext } from './context.ts'
import { parseValue, type ShutValue, UNKNOWN_FORMAT } from './format.ts'
import { unchanged } from './guards.ts'
import { endOps } from './hold.ts'
import { Inspection } from './inspection.ts'
import { LOCKS, lockPrefix, parseClaimName, wholeOf } from './names.ts'
import { notificationOp } from './notifications.ts'
import { WAITING_TTL_MS } from './queue.ts'
import { pagesOf } from './read.ts'
import type { ClaimEntry } from './snapshot.ts'
import { keyStateOf, type WholeKey, wholeKeyOf } from './whole-key.ts'

const EVICTIONS_TRIED = 32
/** Three operations for each claim, of the 128 of a transaction. */
const EVICTED_AT_ONCE = 40

export class EtcdAdmin implements Admin {
  private readonly context: StoreContext
  private readonly inspection: Inspection

  constructor(context: StoreContext) {
    this.context = context
    this.inspection = new Inspection(context.client, context.runtime)
  }

  async read(key: string): Promise<KeyView> {
    return this.view(await this.whole(key), new Map())
  }

  /** Page by page; a key that comes or goes meanwhile may be listed or not. */
  async *list(prefix: string): AsyncIterable<KeyView> {
    const left = new Map<bigint, number>()
    const start = lockPrefix(prefix)
    let claims: KeyValue[] = []
    for await (const kv of pagesOf(this.context.client, start, LOCKS.end)) {
      if (!kv.key.startsWith(start)) break
      if (claims[0] !== undefined && keyOf(claims[0]) !== keyOf(kv)) {
        yield* this.shown(claims, left)
        claims = []
      }
      claims.push(kv)
    }
    yield* this.shown(claims, left)
  }

  async evict(key: string, token: bigint | null, ask: boolean): Promise<EvictAnswer> {
    const labels: string[] = []
    for (let tries = 0; tries < EVICTIONS_TRIED; tries++) {
      const { holds } = await this.whole(key)
      const members = holds.filter(([first]) => token === null || first?.seq === seqOf(token)).flat()
      const victims = members.slice(0, EVICTED_AT_ONCE)
      if (victims.length === 0) break
      if (!(await this.end(victims, ask))) continue
      labels.push(...victims.map(({ value }) => value.label))
      if (ask || victims.length === members.length) break
    }
    return { kind: labels.length === 0 ? 'absent' : 'evicted', labels }
  }

  inspect(options: InspectOptions): AsyncIterable<Fact> {
    return this.inspection.facts(options)
  }

  reap(remains: readonly Remains[]): Promise<readonly boolean[]> {
    return this.inspection.reap(remains)
  }

  /** False when a victim has changed. The next grant has a later revision, so the fencing token rises. */
  private async end(victims: readonly ClaimEntry[], ask: boolean): Promise<boolean> {
    const success = victims.flatMap((victim) => {
      if (ask) return [notificationOp('revoked', victim)]
      const delayed = victim.value.lockDelayMs !== undefined
      return [...endOps(victim, victim.name, delayed), notificationOp('evicted', victim)]
    })
    const txn = { compare: victims.map(unchanged), success }
    return (await this.context.client.txn(txn)).succeeded
  }

  private async whole(key: string): Promise<WholeKey> {
    const { kvs } = await this.context.client.range(wholeOf(key))
    return requireKnown(wholeKeyOf(key, kvs))
  }

  private async *shown(kvs: readonly KeyValue[], left: Map<bigint, number>): AsyncIterable<KeyView> {
    const [first] = kvs
    if (first === undefined) return
    const whole = wholeKeyOf(keyOf(first), kvs)
    const known = await this.view(whole, left)
    const view = whole.foreign ? { ...known, holders: [...known.holders, STRANGE_HOLDER] } : known
    if (isInUse(view)) yield view
  }

  /** `left` caches the remaining times of leases, which claims share. */
  private async view(whole: WholeKey, left: Map<bigint, number>): Promise<KeyView> {
    const { client, runtime } = this.context
    const entries = [...whole.holds.flat(), ...whole.waiting]
    const unknown = new Set(entries.map(({ lease }) => lease).filter((lease) => !left.has(lease)))
    await Promise.all([...unknown].map(async (id) => left.set(id, (await client.timeToLive(id)) * 1000)))
    const nowMs = runtime.wallMs()
    const expiresAtMs = ({ lease, value }: ClaimEntry): number =>
      nowMs + Math.max(1, Math.min(value.ttlMs, left.get(lease) ?? 0))
    const view = viewOf(whole.key, keyStateOf(whole, expiresAtMs, nowMs), nowMs)
    // A position has a shorter time to live of its own, which shows an operator whether the process lives.
    const queue = view.queue.map((waiter) => ({ ...waiter, ttlMs: Math.min(waiter.ttlMs, WAITING_TTL_MS) }))
    const closedForMs = whole.closedBy === null ? 0 : await this.closedForMs(whole.closedBy.name)
    return { ...view, queue: queue, closedForMs }
  }

  private async closedForMs(name: string): Promise<number> {
    const { client } = this.context
    const { kvs } = await client.range({ key: name })
    const [delay] = kvs
    if (delay === undefined) return 0
    const lockDelayMs = parseValue<ShutValue>(delay.value)?.lockDelayMs ?? 0
    return Math.max(0, Math.min(lockDelayMs, (await client.timeToLive(delay.lease)) * 1000))
  }
}

/** Refuses keys with claims in another format. */
function requireKnown(whole: WholeKey): WholeKey {
  if (whole.foreign) throw new UnsupportedError(`${JSON.stringify(whole.key)}: ${UNKNOWN_FORMAT}`)
  return whole
}

function keyOf({ key }: KeyValue): string {
  return parseClaimName(key).key
}
