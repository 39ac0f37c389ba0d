import type { Rules } from '../../../model/index.ts'

const HOUR_MS = 3_600_000

export const RULES: Rules = { offerMs: 1000, keepSeqMs: 24 * HOUR_MS, mostOffers: 100 }

/** A row is kept this much longer than needed, so that an hour of grants leaves the index of clean-up alone. */
export const FORGET_SLACK_MS = HOUR_MS

/** A statement is bounded: it holds its rows until it is done. */
export const KEYS_PER_STATEMENT = 200

/** How many waiters are looked after in one statement. */
export const CLAIMS_PER_LOOK = 200

/** How many rows one step of clean-up removes at most from each table. */
export const ROWS_PER_CLEANING = 100

/** A row that somebody's transaction keeps locked for longer than this counts as held. */
export const LOCK_WAIT_MS = 500

/** How many keys with claims that nobody renews one step of clean-up looks at. */
export const KEYS_PER_CLEANING = 10
