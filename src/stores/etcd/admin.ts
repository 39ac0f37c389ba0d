import type { Fact, InspectOptions, Remains } from '../../core/facts.ts'
import type { Admin } from '../../core/store.ts'
import { type EvictAnswer, isInUse, type KeyView, seqOf, viewOf } from '../../model/index.ts'
import type { Desk } from './desk.ts'
import { whole } from './fresh.ts'
import { unchanged } from './guards.ts'
import { delayName, endOp } from './holding.ts'
import { letterOp } from './inbox.ts'
import { Inspection } from './inspection.ts'
import { type Entry, type Line, lineOf, stateOf } from './line.ts'
import { LOCKS, lockPrefix, parseClaimName } from './names.ts'
import type { KeyValue } from './wire/responses.ts'

const CLAIMS_PER_PAGE = 500
const EVICTIONS_TRIED = 32
/** Two operations for each claim, of the 128 that a transaction may have. */
const EVICTED_AT_ONCE = 60

export class EtcdAdmin implements Admin {
  private readonly desk: Desk
  private readonly inspection: Inspection

  constructor(desk: Desk) {
    this.desk = desk
    this.inspection = new Inspection(desk.client, desk.runtime)
  }

  async read(key: string): Promise<KeyView> {
    return this.view(await this.line(key), new Map())
  }

  /** Page by page; a key that comes or goes meanwhile may be shown or not. */
  async *list(prefix: string): AsyncIterable<KeyView> {
    const left = new Map<bigint, number>()
    let from = lockPrefix(prefix)
    let claims: KeyValue[] = []
    for (;;) {
      const page = await this.desk.client.range({ key: from, end: LOCKS.end, limit: CLAIMS_PER_PAGE })
      const { kvs } = page
      const own = kvs.filter(({ key }) => key.startsWith(lockPrefix(prefix)))
      for (const kv of own) {
        if (claims[0] !== undefined && keyOf(claims[0]) !== keyOf(kv)) {
          yield* this.shown(claims, page.header.revision, left)
          claims = []
        }
        claims.push(kv)
      }
      if (kvs.length < CLAIMS_PER_PAGE || own.length < kvs.length) {
        yield* this.shown(claims, page.header.revision, left)
        return
      }
      from = `${kvs.at(-1)?.key}\0`
    }
  }

  async evict(key: string, token: bigint | null, ask: boolean): Promise<EvictAnswer> {
    let line = await this.line(key)
    const labels: string[] = []
    for (let tries = 0; tries < EVICTIONS_TRIED; tries++) {
      const meant = line.holds.filter(({ seq }) => token === null || seq === seqOf(token))
      const victims = meant.flatMap(({ members }) => members).slice(0, EVICTED_AT_ONCE)
      if (victims.length === 0) break
      const changed = await this.letGo(line, victims, ask)
      if (changed === null) {
        labels.push(...victims.map(({ value }) => value.label))
        if (ask || victims.length < EVICTED_AT_ONCE) break
        line = await this.line(key)
      } else {
        line = changed
      }
    }
    return { kind: labels.length === 0 ? 'absent' : 'evicted', labels }
  }

  inspect(options: InspectOptions): AsyncIterable<Fact> {
    return this.inspection.facts(options)
  }

  reap(remains: readonly Remains[]): Promise<readonly boolean[]> {
    return this.inspection.reap(remains)
  }

  /** Null when it was done; else the line as it is. The next grant has a later revision, so that the fence moves. */
  private async letGo(line: Line, victims: readonly Entry[], ask: boolean): Promise<Line | null> {
    const success = victims.flatMap((victim) => {
      if (ask) return [letterOp('revoked', victim)]
      const delay = victim.value.lockDelayMs === undefined ? null : delayName(victim)
      return [endOp(victim.name, delay), letterOp('evicted', victim)]
    })
    const txn = { compare: victims.map(unchanged), success, failure: [whole(line.key)] }
    const { succeeded, results, header } = await this.desk.client.txn(txn)
    return succeeded ? null : lineOf(line.key, results[0]?.kvs ?? [], header.revision)
  }

  private async line(key: string): Promise<Line> {
    const { kvs, header } = await this.desk.client.range(whole(key))
    return lineOf(key, kvs, header.revision)
  }

  private async *shown(
    kvs: readonly KeyValue[],
    revision: number,
    left: Map<bigint, number>,
  ): AsyncIterable<KeyView> {
    const [first] = kvs
    if (first === undefined) return
    const view = await this.view(lineOf(keyOf(first), kvs, revision), left)
    if (isInUse(view)) yield view
  }

  /** `left` remembers what was asked about leases, which claims share. */
  private async view(line: Line, left: Map<bigint, number>): Promise<KeyView> {
    const { client, runtime } = this.desk
    const entries = [...line.holds.flatMap(({ members }) => members), ...line.offered, ...line.waiting]
    const unknown = new Set(entries.map(({ lease }) => lease).filter((lease) => !left.has(lease)))
    await Promise.all([...unknown].map(async (id) => left.set(id, (await client.timeToLive(id)) * 1000)))
    const nowMs = runtime.wallMs()
    const expiresAtMs = ({ lease, value }: Entry): number =>
      nowMs + Math.max(1, Math.min(value.ttlMs, left.get(lease) ?? 0))
    const view = viewOf(line.key, stateOf(line, expiresAtMs, nowMs), nowMs)
    return { ...view, closedForMs: line.closedBy === null ? 0 : await this.closedForMs(line.closedBy.key) }
  }

  private async closedForMs(name: string): Promise<number> {
    const { client } = this.desk
    const { kvs } = await client.range({ key: name })
    const [delay] = kvs
    if (delay === undefined) return 0
    const { lockDelayMs } = JSON.parse(delay.value) as { lockDelayMs: number }
    return Math.max(0, Math.min(lockDelayMs, (await client.timeToLive(delay.lease)) * 1000))
  }
}

function keyOf({ key }: KeyValue): string {
  return parseClaimName(key).key
}
