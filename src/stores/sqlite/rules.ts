import type { Rules } from '../../model/index.ts'

const HOUR_MS = 3_600_000

export const RULES: Rules = { offerMs: 1000, keepSeqMs: 24 * HOUR_MS, mostOffers: 100 }

/** A row is kept this much longer than needed, so that an hour of grants leaves the index of clean-up alone. */
export const FORGET_SLACK_MS = HOUR_MS
