import type { Rules } from '../../model/index.ts'

/** The same numbers stand in the scripts. */
export const RULES: Rules = { offerMs: 1000, keepSeqMs: 86_400_000 }

/** A script holds up everybody on the server, so a call is bounded. */
export const CLAIMS_PER_CALL = 500

/** Small enough that client and server work at the same time on many claims. Not compared with other numbers yet. */
export const CLAIMS_PER_TURN = 125
