/*
 * Conditions on the row `k` of a key with a queue, the same in every database. `key` is the quoted name of the column.
 */

/** True if the first waiter of `k` cannot be admitted. */
export function keepsOut(claims: string, key: string): string {
  return `(k.waiting = 0 OR NOT coalesce((
    SELECT k.mode = 'shared' AND w.mode = 'shared' OR k.mode = 'permits' AND k.used + w.weight <= k.permits
    FROM ${claims} w WHERE w.${key} = k.${key} AND w.state = 'waiting' ORDER BY w.ticket LIMIT 1), false))`
}

/** True of every hold but the newest. A step admits a bounded number of waiters, and the newest holder admits the next ones. */
export function isOlder(seq: string): string {
  return `${seq} < k.seq`
}

/** True if a step of a holder that goes on holding admits nobody. */
export function admitsNobody(claims: string, key: string, seq: string): string {
  return `(${isOlder(seq)} OR ${keepsOut(claims, key)})`
}

/** True if the end of a hold admits nobody; `whileOthersHold` is the condition where other holds stay. */
export function leavesNoRoom(whileOthersHold: string): string {
  return `(k.waiting = 0 OR k.mode = 'shared' AND k.holds > 1 AND ${whileOthersHold})`
}
