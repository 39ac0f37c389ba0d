import type { Claim, RenewAnswer } from '../../model/index.ts'
import { secure } from './binding.ts'
import type { Known } from './book.ts'
import type { Desk } from './desk.ts'
import { whole } from './fresh.ts'
import { lineOf } from './line.ts'
import { DELAY, SHARED, zonesOf } from './names.ts'
import type { Waiting } from './waiting.ts'
import type { RangeOp } from './wire/requests.ts'
import type { OpResult } from './wire/responses.ts'

/** Two operations each, of the 128 that a transaction may have. */
const CLAIMS_PER_CALL = 60
const LOST: RenewAnswer = { kind: 'lost' }

/** Takes over a claim that another connection made; null when there is none. */
export type Finder = (claim: Claim) => Promise<Known | null>

/** Prolongs holds and places in the line: one keep-alive per lease, one reading for all claims. */
export class Renewals {
  private readonly desk: Desk
  private readonly waiting: Waiting
  private readonly find: Finder

  constructor(desk: Desk, waiting: Waiting, find: Finder) {
    this.desk = desk
    this.waiting = waiting
    this.find = find
  }

  async renew(claims: readonly Claim[]): Promise<readonly RenewAnswer[]> {
    const answers: RenewAnswer[] = new Array(claims.length).fill(LOST)
    const held: { readonly known: Known; readonly claim: Claim; readonly place: number }[] = []
    const others: Promise<void>[] = []
    for (const [place, claim] of claims.entries()) {
      const known = this.desk.book.get(claim)
      if (known?.state === 'held') {
        rearm(this.desk, known, claim.ttlMs)
        held.push({ known, claim, place })
      } else {
        const renewed = known === undefined ? this.renewUnknown(claim) : this.renewWaiting(known, claim)
        others.push(
          renewed.then((answer) => {
            answers[place] = answer
          }),
        )
      }
    }
    for (let first = 0; first < held.length; first += CLAIMS_PER_CALL) {
      const some = held.slice(first, first + CLAIMS_PER_CALL)
      others.push(
        this.renewHeld(some.map(({ known, claim }) => ({ known, claim }))).then((renewed) => {
          for (const [index, { place }] of some.entries()) answers[place] = renewed[index] as RenewAnswer
        }),
      )
    }
    await Promise.all(others)
    return answers
  }

  /** Whether holds are still there, asked while their leases are made to last. */
  private async renewHeld(holds: readonly { known: Known; claim: Claim }[]): Promise<readonly RenewAnswer[]> {
    const { client, book } = this.desk
    const success = holds.flatMap(({ known }): RangeOp[] => [
      { kind: 'range', key: known.name },
      lineOp(known),
    ])
    const [{ results, header }, ...secured] = await Promise.all([
      client.txn({ compare: [], success, failure: [] }),
      ...holds.map(({ known, claim }) => secure(this.desk, known, claim)),
    ])
    return holds.map(({ known }, index) => {
      const own = results[index * 2]?.kvs[0]
      if (secured[index] === true && own?.created === known.created) {
        const contended = isContended(known, results[index * 2 + 1] as OpResult, header.revision)
        return { kind: 'renewed', contended }
      }
      book.drop(known)
      return LOST
    })
  }

  /** A place in the line may have become a hold, which a renewal takes up. */
  private async renewWaiting(known: Known, claim: Claim): Promise<RenewAnswer> {
    rearm(this.desk, known, claim.ttlMs)
    const look = await this.waiting.look(known)
    if (look.kind === 'blocked') return { kind: 'renewed', contended: true }
    if (look.kind !== 'granted') return LOST
    const held = this.desk.book.get(claim)
    if (held === undefined) return LOST
    rearm(this.desk, held, claim.ttlMs)
    return (await secure(this.desk, held, claim)) ? { kind: 'renewed', contended: look.contended } : LOST
  }

  private async renewUnknown(claim: Claim): Promise<RenewAnswer> {
    if (this.desk.book.dying.has(claim.id)) return LOST
    const known = await this.find(claim)
    if (known === null) return LOST
    return known.state === 'held'
      ? ((await this.renewHeld([{ known, claim }]))[0] ?? LOST)
      : this.renewWaiting(known, claim)
  }
}

/** The store does not end the claim before `ttlMs` from now, whether this renewal is answered or not. */
export function rearm({ book, runtime }: Desk, known: Known, ttlMs: number): void {
  known.endsAtMs = Math.max(known.endsAtMs, runtime.nowMs() + ttlMs)
  known.offerEndsAtMs = Number.POSITIVE_INFINITY
  book.watch(known)
}

/** An exclusive holder is alone, so whoever else is there waits. Of others, the whole line must be read. */
function lineOp({ claim: { key, mode, owner } }: Known): RangeOp {
  if (mode.kind !== 'exclusive' || owner !== null) return whole(key)
  return { kind: 'range', ...zonesOf(key, SHARED, DELAY), countOnly: true }
}

function isContended({ claim }: Known, { kvs, count }: OpResult, revision: number): boolean {
  if (claim.mode.kind === 'exclusive' && claim.owner === null) return count > 1
  const line = lineOf(claim.key, kvs, revision)
  return line.waiting.length + line.offered.length > 0
}
