import type { Mutant } from './mutant.ts'

/** Mistakes in the fast path, each of which the comparison with the reference must notice. */
export const mutantsOfFastStep: readonly Mutant[] = (
  [
    ['a claim overtakes the queue on the fast path', 'if (state.queue.length > 0) return null', ''],
    ['the fast path grants a key that stays closed', 'closedUntilMs > nowMs || ', ''],
    ['the fast path grants an adoption of nothing', 'claim.replaces !== null || ', ''],
    ['the fast path grants a weight above the limit', ' || !fits(claim.mode, holds)', ''],
    ['the fast path admits a second holder', 'holds.length > 0 || ', ''],
    ['a fast grant keeps its token for no longer', 'nowMs + rules.keepSeqMs', 'nowMs'],
    ['a fast grant is stamped by the clock alone', 'nextSeq(lastSeq, stampUs)', 'stampUs'],
    [
      'a fast grant forgets that a key was closed',
      ', seqKeptUntilMs: nowMs + rules.keepSeqMs, closedUntilMs',
      ', seqKeptUntilMs: nowMs + rules.keepSeqMs, closedUntilMs: 0',
    ],
    [
      'a fast renewal shortens',
      'if (expiresAtMs <= member.expiresAtMs) return { state, answer: RENEWED, notifications: NO_NOTIFICATIONS }',
      '',
    ],
    [
      'a fast renewal starts the hold again',
      '{ id, expiresAtMs, sinceMs,',
      '{ id, expiresAtMs, sinceMs: nowMs,',
    ],
    ['the fast path renews and releases expired claims', ' && member.expiresAtMs > nowMs', ''],
    ['the fast path renews and releases for a stranger', ' && member.id === id', ''],
    ['one of several holds is taken for the only one', 'holds.length === 1 ?', 'holds.length > 0 ?'],
    [
      'one of several claims of an owner is taken for the only one',
      'members?.length === 1 ?',
      'members !== undefined ?',
    ],
  ] as const
).map(([mistake, from, to]) => ({ mistake, file: 'fast-step.ts', from, to, noticedBy: 'fastStep' }))
