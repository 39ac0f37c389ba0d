import type { Rules } from '../../model/index.ts'

const HOUR_MS = 3_600_000

/** The rules of the stores over SQL. */
export const RULES: Rules = { offerMs: 1000, keepSeqMs: 24 * HOUR_MS, mostOffers: 100 }

/** A row is kept this much longer than needed, so that an hour of grants leaves the index of clean-up alone. */
export const FORGET_SLACK_MS = HOUR_MS

/** A token that no hold has: to evict it applies the passing of time to a key, and no more. */
export const NO_TOKEN = 0n
