import type { Patch } from './bundle.ts'

/** A planted bug. The simulation must find each of them, or it could not find the real one either. */
export interface Mutant {
  readonly name: string
  readonly patches: readonly Patch[]
}

const step = 'src/model/step.ts'
const draft = 'src/model/draft.ts'
const acquire = 'src/core/acquire/acquisition.ts'
const watchdog = 'src/core/lease/watchdog.ts'
const turnQueue = 'src/core/acquire/turn-queue.ts'

export const MUTANTS: readonly Mutant[] = [
  mutant(
    'blind delete',
    step,
    '} else if (!draft.leave(id)) {',
    '} else if (!draft.leave(id)) {\n    draft.holds = []',
  ),
  mutant(
    'stale release frees the successor',
    'src/core/lease/lease.ts',
    'if (this.outcome !== null) return this.outcome',
    '',
  ),
  mutant(
    'renewal re-creates',
    step,
    "if (waiting === undefined) return { kind: 'lost' }",
    `if (waiting === undefined) {
      if (draft.holds.length > 0) return { kind: 'lost' }
      const member = { id, expiresAtMs, sinceMs: clock.nowMs, label: '', actor: null, meta: null, lockDelayMs: 0, inbox: null }
      draft.holds = [{ owner: null, mode: { kind: 'exclusive' }, seq: draft.seq, members: [member] }]
      return { kind: 'renewed', contended: draft.contended }
    }`,
  ),
  mutant(
    'validity from the reply',
    acquire,
    'grantOf(answer, this.claim, sentAtMs, nowMs)',
    'grantOf(answer, this.claim, nowMs, nowMs)',
  ),
  mutant(
    'drift ignored under skew',
    'src/core/lease/hold.ts',
    'return Math.ceil(durationMs * 0.01) + 2',
    'return 0 * durationMs',
  ),
  mutant(
    'no own timer while renewal hangs',
    watchdog,
    'this.renewals.wake(batch, batch.endMs)\n    return settled',
    'this.renewals.shut(batch)\n    return settled',
  ),
  {
    name: 'no rollback after an unknown attempt',
    patches: [
      {
        file: acquire,
        find: 'this.cancel()\n      this.owner.failed',
        replace: 'this.leave()\n      this.owner.failed',
      },
    ],
  },
  mutant(
    'a sleep of the machine goes unnoticed',
    'src/core/runtime.ts',
    'if (sleptMs < SLEEP_MS) return 0',
    'return 0',
  ),
  mutant('watchdog outlives release', 'src/core/engine.ts', 'this.watchdog.unwatch(hold)', ''),
  mutant(
    'token repeats',
    'src/model/token.ts',
    'Math.max(lastSeq + 1, stampUs)',
    'Math.max(lastSeq, stampUs)',
  ),
  mutant('token falls after a takeover', draft, 'this.holds = alive', 'this.holds = alive\n    this.seq = 0'),
  mutant('dead waiter blocks the line', draft, 'Math.min(next.claim.ttlMs, this.rules.offerMs)', '1e9'),
  mutant(
    'lost wake-up without fallback',
    acquire,
    'if (this.queued) this.engine.heartbeats.keep(this)\n    this.lookAgain(answer)',
    '',
  ),
  {
    name: 'hand-over beyond validity',
    patches: [
      {
        file: 'src/core/lease/hold.ts',
        find: 'return nowMs + hold.lifeMs / 2 <= hold.validUntilMs',
        replace: 'return nowMs > 0 && hold.lifeMs > 0',
      },
      {
        file: turnQueue,
        find: 'hold.handovers++',
        replace: 'hold.handovers++\n    hold.validUntilMs = this.engine.runtime.nowMs() + hold.claim.ttlMs',
      },
    ],
  },
  mutant(
    'hand-over reuses the token',
    'src/core/acquire/grant.ts',
    'this.granted + BigInt(this.used)',
    'this.granted',
  ),
  {
    name: 'unconfirmed offer kept as a full lease',
    patches: [
      {
        file: acquire,
        find: 'const wholeMs = laterMs + push.lifeMs',
        replace: 'const wholeMs = laterMs + this.claim.ttlMs',
      },
      {
        file: acquire,
        find: 'this.conclude({ token, spare, contended, validUntilMs, lifeMs })',
        replace:
          'this.conclude({ token, spare, contended, validUntilMs, lifeMs: Math.max(lifeMs, this.claim.ttlMs) })',
      },
    ],
  },
  mutant(
    'resent claim granted twice',
    step,
    'if (found !== undefined) return reclaim(draft, wanted, found, clock)',
    'if (found !== undefined && found.hold.seq < 0) return reclaim(draft, wanted, found, clock)',
  ),
  mutant(
    'permits over-admitted',
    'src/model/admission.ts',
    'usedPermits(holds) + mode.weight <= mode.limit',
    'usedPermits(holds) < mode.limit',
  ),
  mutant(
    'writer starved',
    step,
    'waiting < 0 && draft.queue.length === 0 && draft.admits(wanted)',
    "waiting < 0 && (draft.queue.length === 0 || wanted.mode.kind === 'shared') && draft.admits(wanted)",
  ),
  mutant(
    'a member without an outcome is forgotten',
    'src/core/calls/batch.ts',
    "else if (answer.kind === 'unknown') receiver.failed(this.client.unknown(this.call, 1, answer.error))",
    "else if (answer.kind === 'unknown') continue",
  ),
  mutant('hand-over not limited by count', turnQueue, 'hold.handovers < HANDOVERS_WHEN_CONTENDED && ', ''),
  mutant('hand-over not limited by time', turnQueue, ' && contendedMs < HANDOVER_MS_WHEN_CONTENDED', ''),
  mutant(
    'readers join before a waiting writer',
    'src/core/acquire/reader-queue.ts',
    'closed || hold.contended ||',
    'closed ||',
  ),
  mutant(
    'permit holders hear of no waiter',
    'src/core/acquire/local-queue.ts',
    'if (!this.notifies) this.engine.listen(hold)',
    "if (claim.mode.kind !== 'permits' && !this.notifies) this.engine.listen(hold)",
  ),
]

export function mutant(name: string, file: string, find: string, replace: string): Mutant {
  return { name, patches: [{ file, find, replace }] }
}
