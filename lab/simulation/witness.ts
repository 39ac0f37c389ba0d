import type { Lease } from '../../src/core/api.ts'
import { seqOf } from '../../src/model/index.ts'
import type { Host } from './host.ts'
import type { Ask } from './plan.ts'
import type { Fail } from './violation.ts'
import type { World } from './world.ts'

/** A lease in the hands of user code, as the witness saw it. */
export interface Sighting {
  readonly key: string
  readonly client: string
  readonly host: Host
  readonly lease: Pick<Lease, 'id' | 'token' | 'held' | 'signal'>
  ask: Ask
  /** Users of one party share the hold, because its owner or its async context asked again. */
  readonly party: string
  /** True if user code listens to the signal. */
  readonly listens: boolean
  readonly askedUs: number
  readonly beganUs: number
  /** Place in the order in which exclusive holders began; null for those it means nothing for. */
  rank: number | null
  endedUs: number | null
  endedBy: string
  /** Another holder began that excludes this one: it must never be valid again. */
  succeeded: boolean
}

export type Seen = Pick<
  Sighting,
  'key' | 'client' | 'host' | 'lease' | 'ask' | 'party' | 'listens' | 'askedUs'
>

interface Ended {
  readonly atUs: number
  readonly token: bigint
}

interface Book {
  readonly open: Sighting[]
  readonly tokens: Map<bigint, { readonly party: string; readonly rank: number }>
  /** By sequence number, the highest token among those that ended by then; both rise. */
  readonly ended: Map<number, Ended[]>
  highestExclusive: bigint
  highestAny: bigint
  ranks: number
}

/** Looks on from outside of all clocks: who holds what, and whether that may be. */
export class Witness {
  grants = 0
  private readonly world: World
  private readonly fail: Fail
  private readonly books = new Map<string, Book>()
  /** Holds that an operator or an adoption ended, by claim id: their holder may not know yet. */
  private readonly deposed = new Map<string, number>()

  constructor(world: World, fail: Fail) {
    this.world = world
    this.fail = fail
  }

  began(seen: Seen): Sighting {
    const book = this.book(seen.key)
    const sighting: Sighting = {
      ...seen,
      beganUs: this.world.nowUs,
      rank: null,
      endedUs: null,
      endedBy: '',
      succeeded: false,
    }
    this.grants++
    const { world } = this
    if (world.trace !== null) {
      world.note(
        seen.client,
        `has ${nameOf(seen.ask)} ${seen.key} with token ${seen.lease.token} as ${seen.lease.id}`,
      )
    }
    world.mix(world.nowUs)
    world.mixToken(seen.lease.token)
    if (!this.deposed.has(seen.lease.id)) {
      this.checkToken(sighting, book)
      this.checkOthers(sighting, book)
    }
    book.open.push(sighting)
    return sighting
  }

  /** User code is through with the lease, whatever the store makes of it. */
  ended(sighting: Sighting, by: string): void {
    if (sighting.endedUs !== null) return
    this.checkRevived(sighting)
    sighting.endedUs = this.world.nowUs
    sighting.endedBy = by
    if (this.world.trace !== null) this.world.note(sighting.client, `is through with ${sighting.key} (${by})`)
    const book = this.book(sighting.key)
    book.open.splice(book.open.indexOf(sighting), 1)
    const token = sighting.lease.token ?? 0n
    const ended = book.ended.get(seqOf(token)) ?? []
    if (token > (ended.at(-1)?.token ?? -1n)) ended.push({ atUs: sighting.endedUs, token })
    book.ended.set(seqOf(token), ended)
  }

  /** A hold ended in the store by an operator's hand or an adoption. */
  depose(id: string): void {
    this.deposed.set(id, this.world.nowUs)
  }

  /** The leases that user code has at this moment. */
  open(): Sighting[] {
    return [...this.books.values()].flatMap((book) => book.open)
  }

  /** A machine wakes up: a lease that others succeeded meanwhile must not say that it is held, not even now. */
  woke(host: Host): void {
    for (const sighting of this.open()) if (sighting.host === host) this.checkRevived(sighting)
  }

  private checkToken(sighting: Sighting, book: Book): void {
    const { key, lease, party, ask } = sighting
    const { token } = lease
    if (token === null) {
      this.fail('token missing', `${key}: ${describe(sighting)}`)
      return
    }
    const alone = isAlone(ask)
    const same = book.tokens.get(token)
    if (same !== undefined && same.party !== party) {
      this.fail('token repeats', `${key}: token ${token} was given to ${same.party} and to ${party}`)
    }
    if (alone) sighting.rank = same?.rank ?? ++book.ranks
    if (same === undefined) book.tokens.set(token, { party, rank: sighting.rank ?? 0 })
    // Sharers of one process use the tokens of a grant that may be older than that of another process.
    const floor = alone
      ? book.highestAny
      : max(book.highestExclusive, endedBefore(token, book, sighting.askedUs))
    if (token < floor && !joins(sighting, token, book))
      this.fail('token falls', `${key}: token ${token} after ${floor}: ${describe(sighting)}`)
    if (alone) book.highestExclusive = max(book.highestExclusive, token)
    book.highestAny = max(book.highestAny, token)
  }

  private checkOthers(sighting: Sighting, book: Book): void {
    if (!this.valid(sighting)) return
    const beside = [sighting]
    for (const other of book.open) {
      if (other.party === sighting.party || this.deposed.has(other.lease.id) || !other.host.alive) continue
      this.checkRevived(other)
      if (this.valid(other)) beside.push(other)
      if (compatible(sighting, other)) continue
      if (this.valid(other)) {
        this.fail(
          'overlap',
          `${sighting.key}: two valid leases at once\n  ${describe(other)}\n  ${describe(sighting)}`,
        )
      } else if (other.listens && !other.lease.signal.aborted && !other.host.paused && !other.host.justWoke) {
        this.fail(
          'signal late',
          `${sighting.key}: succeeded, but its signal has not fired\n  ${describe(other)}\n  ${describe(sighting)}`,
        )
      }
      other.succeeded = true
    }
    if (sighting.ask.kind === 'permits') this.checkPermits(sighting.ask.limit, beside)
  }

  private checkPermits(limit: number, beside: Sighting[]): void {
    const sum = beside.reduce((used, { ask }) => used + (ask.kind === 'permits' ? ask.weight : 0), 0)
    if (sum > limit) {
      const list = beside.map((each) => `\n  ${describe(each)}`).join('')
      this.fail('overlap', `${beside[0]?.key}: ${sum} permits of ${limit} in use at once${list}`)
    }
  }

  private checkRevived(sighting: Sighting): void {
    if (sighting.succeeded && this.valid(sighting)) {
      this.fail('revived', `${sighting.key}: valid again although another was: ${describe(sighting)}`)
    }
  }

  private valid({ lease, host, endedUs }: Sighting): boolean {
    // On a machine that sleeps no code runs that could use the lease.
    return endedUs === null && host.alive && !host.clock.asleep && !this.deposed.has(lease.id) && lease.held
  }

  private book(key: string): Book {
    let book = this.books.get(key)
    if (book === undefined) {
      book = {
        open: [],
        tokens: new Map(),
        ended: new Map(),
        highestExclusive: -1n,
        highestAny: -1n,
        ranks: 0,
      }
      this.books.set(key, book)
    }
    return book
  }
}

function compatible(one: Sighting, other: Sighting): boolean {
  return !isAlone(one.ask) && !isAlone(other.ask)
}

function isAlone(ask: Ask): boolean {
  return ask.kind === 'mutex' || ask.kind === 'write'
}

/**
 * Two claims of one party that come together share the hold. A quorum may found it twice, with two numbers, and they may hear
 * of them in either order; other parties have lower tokens.
 */
function joins({ party, askedUs }: Sighting, token: bigint, book: Book): boolean {
  const above = [...book.tokens].filter(([other]) => other > token)
  return above.every(([, other]) => other.party === party) && endedBefore(token, book, askedUs) <= token
}

/** The highest token of the same grant among the leases that had ended by then: a later user of the grant has a higher one. */
function endedBefore(token: bigint, book: Book, atUs: number): bigint {
  const ended = book.ended.get(seqOf(token)) ?? []
  return ended.findLast((entry) => entry.atUs <= atUs)?.token ?? -1n
}

function max(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}

function nameOf(ask: Ask): string {
  return ask.kind === 'permits'
    ? `${ask.weight} of ${ask.limit} permits of`
    : ask.kind === 'mutex'
      ? 'the lock'
      : `the ${ask.kind} lock`
}

function describe({ client, ask, lease, beganUs, askedUs }: Sighting): string {
  const at = (us: number) => `${(us / 1000).toFixed(3)} ms`
  return `${client} ${ask.kind} token ${lease.token} id ${lease.id}: asked at ${at(askedUs)}, has it since ${at(beganUs)}`
}
