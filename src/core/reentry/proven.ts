import { quote, StoreError } from '../../errors.ts'
import type { StoreLease } from '../lease/lease.ts'
import type { LockRequest } from '../options.ts'
import type { Runtime } from '../runtime.ts'

/** The pause after a failed proof. */
const PAUSE_MS = 50

/**
 * Settles when a lease in doubt after a stall or a sleep is proven or over. Rejects if the store confirms neither within the
 * request's wait, or when its signal fires.
 */
export async function proven(lease: StoreLease, request: LockRequest, runtime: Runtime): Promise<void> {
  const { waitMs, signal } = request
  const untilMs = runtime.nowMs() + waitMs
  for (;;) {
    signal?.throwIfAborted()
    const proof = lease.proveSoon()
    // A request that does not wait gets one answer, too.
    const answerMs = waitMs === 0 ? Number.POSITIVE_INFINITY : untilMs - runtime.nowMs()
    if (proof instanceof Promise) await passed(answerMs, request, runtime, proof)
    if (lease.held || lease.ended) return
    const leftMs = untilMs - runtime.nowMs()
    if (leftMs <= 0) throw unproven(lease, waitMs)
    await passed(Math.min(PAUSE_MS, leftMs), request, runtime)
  }
}

/** Waits until the time is over or the proof has settled. */
function passed(ms: number, { signal }: LockRequest, runtime: Runtime, proof?: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      timer.clear()
      signal?.removeEventListener('abort', abort)
    }
    const done = () => {
      stop()
      resolve()
    }
    const abort = () => {
      stop()
      reject(signal?.reason)
    }
    const timer = runtime.setTimer(done, ms, false)
    signal?.addEventListener('abort', abort)
    void proof?.then(done)
  })
}

function unproven({ key, hold }: StoreLease, waitMs: number): StoreError {
  return new StoreError(
    `this async context holds ${quote(key)}, and the store did not confirm that after a stall within the wait of ${waitMs} ms`,
    { cause: hold.renewError },
  )
}
