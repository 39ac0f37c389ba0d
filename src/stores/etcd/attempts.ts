import type { Claim, ClaimAnswer } from '../../model/index.ts'
import { granted } from './answers.ts'
import type { Arrivals } from './arrivals.ts'
import { secure } from './binding.ts'
import type { Known } from './book.ts'
import type { Desk } from './desk.ts'
import { whole } from './fresh.ts'
import { findEntry, lineOf } from './line.ts'
import { rearm } from './renewals.ts'
import type { Waiting } from './waiting.ts'

/** How many claims travel in one transaction; each needs a few of the 128 operations that it may have. */
const CLAIMS_PER_CALL = 60

/** Claims that do not belong to a group: new ones in as few transactions as can be, known ones each for itself. */
export class Attempts {
  private readonly desk: Desk
  private readonly waiting: Waiting
  private readonly arrivals: Arrivals

  constructor(desk: Desk, waiting: Waiting, arrivals: Arrivals) {
    this.desk = desk
    this.waiting = waiting
    this.arrivals = arrivals
  }

  async attempt(claims: readonly Claim[]): Promise<readonly ClaimAnswer[]> {
    if (claims.length === 1) return [await this.one(claims[0] as Claim)]
    const answers: ClaimAnswer[] = new Array(claims.length)
    const note = (place: number) => (answer: ClaimAnswer) => {
      answers[place] = answer
    }
    const others: Promise<void>[] = []
    let wave: { readonly claim: Claim; readonly place: number }[] = []
    let later: typeof wave = []
    for (const [place, claim] of claims.entries()) {
      if (this.isSimple(claim)) wave.push({ claim, place })
      else others.push(this.one(claim).then(note(place)))
    }
    // Heard from now on: the waves below take a while, and may fail first.
    const rest = Promise.all(others)
    rest.catch(ignore)
    while (wave.length > 0) {
      // Claims of one key are told apart by the revision that they came with, so they come one after the other.
      const keys = new Set<string>()
      const now: typeof wave = []
      later = []
      for (const each of wave) {
        if (now.length === CLAIMS_PER_CALL || keys.has(each.claim.key)) later.push(each)
        else now.push(each)
        keys.add(each.claim.key)
      }
      const settled = await this.arrivals.together(now.map(({ claim }) => claim))
      for (const [index, { place }] of now.entries()) answers[place] = settled[index] as ClaimAnswer
      wave = later
    }
    await rest
    return answers
  }

  private isSimple(claim: Claim): boolean {
    const { book } = this.desk
    return claim.replaces === null && book.get(claim) === undefined && !book.dying.has(claim.id)
  }

  private async one(claim: Claim): Promise<ClaimAnswer> {
    const { book, runtime, client } = this.desk
    await book.dying.get(claim.id)
    const known = book.get(claim)
    if (known !== undefined) {
      const answer = await this.again(known, claim)
      if (answer !== null) return answer
    }
    if (claim.replaces === null) return (await this.arrivals.together([claim]))[0] as ClaimAnswer
    const sentAtMs = runtime.nowMs()
    const { kvs, header } = await client.range(whole(claim.key))
    return this.arrivals.decided(claim, lineOf(claim.key, kvs, header.revision), sentAtMs)
  }

  /** A claim that is sent again is the same claim. Null when etcd does not have it any more. */
  private async again(known: Known, claim: Claim): Promise<ClaimAnswer | null> {
    const { book, client, runtime } = this.desk
    const sentAtMs = runtime.nowMs()
    rearm(this.desk, known, claim.ttlMs)
    if (known.state === 'waiting') {
      const look = await this.waiting.look(known)
      if (look.kind === 'gone') return null
      if (look.kind !== 'granted') return look
      const held = book.get(claim)
      if (held === undefined) return null
      // The look may have been under way before we asked.
      rearm(this.desk, held, claim.ttlMs)
      return (await secure(this.desk, held, claim)) ? look : null
    }
    const [{ kvs, header }, secured] = await Promise.all([
      client.range(whole(claim.key)),
      secure(this.desk, known, claim),
    ])
    const line = lineOf(claim.key, kvs, header.revision)
    const own = findEntry(line, claim.id)
    if (!secured || own === undefined || own.created !== known.created) {
      book.drop(known)
      return null
    }
    if (own.mode.kind !== claim.mode.kind) return this.arrivals.decided(claim, line, sentAtMs)
    return granted(known.seq, claim, line.waiting.length > 0)
  }
}

/** Whoever waits for the answers hears it, too. */
function ignore(): void {}
