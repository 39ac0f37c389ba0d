import type { Claim, ReleaseAnswer } from '../../model/index.ts'
import type { Known } from './book.ts'
import type { Desk } from './desk.ts'
import { delayName, endOp } from './holding.ts'
import { BESIDE_SHARED, besideZone, claimName, lineZone } from './names.ts'
import type { Op } from './wire/requests.ts'
import type { OpResult } from './wire/responses.ts'

/** Every claim takes up to three of the 128 operations that a transaction may have. */
const CLAIMS_PER_CALL = 30

/** Gives back holds and places in the line. */
export async function release(desk: Desk, claims: readonly Claim[]): Promise<readonly ReleaseAnswer[]> {
  if (claims.length <= CLAIMS_PER_CALL) return releaseSome(desk, claims)
  const parts: Promise<readonly ReleaseAnswer[]>[] = []
  for (let first = 0; first < claims.length; first += CLAIMS_PER_CALL)
    parts.push(releaseSome(desk, claims.slice(first, first + CLAIMS_PER_CALL)))
  return (await Promise.all(parts)).flat()
}

async function releaseSome(desk: Desk, claims: readonly Claim[]): Promise<readonly ReleaseAnswer[]> {
  const { book, client, leases } = desk
  const known = claims.map((claim) => book.get(claim))
  // From now on nobody is to renew or grant them.
  for (const each of known) if (each !== undefined) book.drop(each)
  const ops = claims.map((claim, index) => opsOf(claim, known[index]))
  try {
    const { results } = await client.txn({ compare: [], success: ops.flat(), failure: [] })
    let next = 0
    return ops.map((own) => {
      const found = results.slice(next, next + own.length).some(isFound)
      next += own.length
      return found ? RELEASED : ABSENT
    })
  } catch (error) {
    // What was not released must end with its lease, which other claims would keep alive.
    for (const each of known) if (each !== undefined) leases.retire(each.lease)
    throw error
  }
}

const RELEASED: ReleaseAnswer = { kind: 'released' }
const ABSENT: ReleaseAnswer = { kind: 'absent' }

/** A claim that this store does not know may stand under any name that its mode allows. */
function opsOf(claim: Claim, known: Known | undefined): Op[] {
  if (known !== undefined) return [endOp(known.name, known.delayName)]
  const { key, id, mode, lockDelayMs } = claim
  const delay = lockDelayMs === 0 ? null : delayName(claim)
  const zones = new Set([lineZone(mode), besideZone(mode), BESIDE_SHARED])
  return [...zones].map((zone) => endOp(claimName(key, zone, id), delay))
}

function isFound({ count, txn }: OpResult): boolean {
  return txn === null ? count > 0 : txn.succeeded
}
