/** Tokens per sequence number: the grant itself and its local handovers. */
export const TOKENS_PER_SEQ = 256n
export const SPARE_TOKENS = 255

/** The next sequence number: above the last one, and above what any forgotten one can have been. */
export function nextSeq(lastSeq: number, stampUs: number): number {
  return Math.max(lastSeq + 1, stampUs)
}

export function tokenOf(seq: number): bigint {
  // Exact, because a multiplication by a power of two leaves the digits of a double alone.
  return BigInt(seq * 256)
}

/** The sequence number that a token, handed over or not, was made from. */
export function seqOf(token: bigint): number {
  return Number(token / TOKENS_PER_SEQ)
}
