import type { Runtime } from '../../core/runtime.ts'
import { type Blocked, type Claim, type Granted, SPARE_TOKENS, tokenOf } from '../../model/index.ts'
import type { Line } from './line.ts'

/** A hold that several claims may share has no tokens to give away. */
export function granted(seq: number, claim: Claim, contended: boolean): Granted {
  return { kind: 'granted', token: tokenOf(seq), spare: claim.owner === null ? SPARE_TOKENS : 0, contended }
}

/** `position` is 0 for a claim that does not wait. What changes is told by a watch, so that there is no time to look again at. */
export function blocked(line: Line, position: number, sentAtMs: number, runtime: Runtime): Blocked {
  const holder = (line.holds[0]?.members[0] ?? line.offered[0])?.value
  return {
    kind: 'blocked',
    position,
    retryAfterMs: null,
    storeTimeMs: sentAtMs,
    holder:
      holder === undefined
        ? null
        : { label: holder.label, heldMs: Math.max(0, runtime.wallMs() - holder.sinceMs) },
  }
}
