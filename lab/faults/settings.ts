/** Settings of every run. Short leases make a short run see many of their ends. */
export const TTL_MS = 2000
/** Longer than the bound on recovery: a queue that times out first lets others in, and hides what closed the key. */
export const WAIT_MS = 10_000
export const CALL_TIMEOUT_MS = 1000
/** Beyond the ttl, and beyond what the store needs to fail over, nobody waits longer than this for a key that is wanted. */
export const RECOVERY_SLACK_MS = 2000
/** So no key that is wanted may stay closed for longer than ttl + 4 s of calm, whatever the store. */
export const LONGEST_FAILOVER_MS = 2000
/** A waiter that missed its wake-up looks again after a second; whoever is served later than this was forgotten. */
export const WAKE_UP_MS = 2000
/** A process that has not got a single answer in so long a calm has lost its way to the store. */
export const CUT_OFF_MS = 10_000
/** A call may last for its wait, and for one call to the store that is not answered, and for what a busy machine adds. */
export const SETTLE_SLACK_MS = 2500
export const PERMITS = 3
export const STOCK = 1_000_000
