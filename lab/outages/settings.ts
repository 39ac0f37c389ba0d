/** Short deadlines, so that the whole table takes minutes. */
export const TTL_MS = 2000
export const CALL_TIMEOUT_MS = 1000
export const WAIT_MS = 1500
/** A waiter in the queue learns of an outage by its heartbeat. */
export const QUEUE_WAIT_MS = TTL_MS * 1.5
/** A lease that is still held after this time was renewed, or the store went on without the faulty server. */
export const HOLD_MS = TTL_MS * 1.5
/** The default of the library, which the commands use. */
const COMMAND_CALL_TIMEOUT_MS = 5000
/** A process that starts and ends, and the time that a command gives a store to close. */
const PROCESS_MS = 3000
export const COMMAND_MS = COMMAND_CALL_TIMEOUT_MS + PROCESS_MS
/** After an outage: the ttl of what was left behind, one call that is not answered, and an election of servers. */
export const RECOVERY_MS = TTL_MS + CALL_TIMEOUT_MS + 3000
/** A call that ends this long after its bound is late: a busy machine delays timers. */
export const LATE_MS = 700
/** A call that has not ended this long after its bound has no end. */
export const GRACE_MS = 5000
/** A fault that nobody plays a call against lasts this long. */
export const LEAST_MS = 1000
/** How long servers are down when they restart. */
export const RESTART_MS = 500
/** Before a fault, a busy machine may need this long for its first answers. */
export const WARM_UP_MS = 10_000
/** Between the last preparation and the fault, so that a renewal has something to change. */
export const QUIET_MS = 50
/** Every key begins with it, so that one server of a Redis cluster has them all. */
export const TAG = '{outage}'
