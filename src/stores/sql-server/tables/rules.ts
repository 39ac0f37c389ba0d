/** A statement keeps its rows locked until it is done, so it is bounded. */
export const KEYS_PER_STATEMENT = 200

/** How many waiters one statement renews or polls. */
export const CLAIMS_PER_POLL = 200

/** One step of clean-up removes at most so many rows from each table. */
export const ROWS_PER_CLEANING = 100

/** A row that another transaction keeps locked for longer than this counts as held. */
export const LOCK_WAIT_MS = 500

/** One step of clean-up reads at most so many keys with claims that are no longer renewed. */
export const KEYS_PER_CLEANING = 10
