import type { Rules } from '../../model/index.ts'

/** The same numbers stand in the scripts. */
export const RULES: Rules = { offerMs: 1000, keepSeqMs: 100_000_000, mostOffers: 50 }

/** A script holds up everybody on the server, so a call is bounded. */
export const CLAIMS_PER_CALL = 100

/** Small enough that client and server work at the same time on many claims. Of 20, 34, 50, 64 and 125, the fastest with 100 and with 1,000 claims. */
export const CLAIMS_PER_TURN = 50
