import type { Mutant } from './mutant.ts'

/** Mistakes in the quick way, each of which the comparison with the long way must notice. */
export const mutantsOfQuick: readonly Mutant[] = (
  [
    ['a claim passes the line quickly', 'if (state.line.length > 0) return null', ''],
    ['a key that stays closed is claimed quickly', 'closedUntilMs > nowMs || ', ''],
    ['an adoption of nothing is granted quickly', 'claim.replaces !== null || ', ''],
    ['a weight above the limit is granted quickly', ' || !fits(claim.mode, holds)', ''],
    ['a second holder is let in quickly', 'holds.length > 0 || ', ''],
    ['a quick grant keeps its token for no longer', 'nowMs + rules.keepSeqMs', 'nowMs'],
    ['a quick grant is stamped by the clock alone', 'nextSeq(lastSeq, stampUs)', 'stampUs'],
    [
      'a quick grant forgets that a key was closed',
      ', seqKeptUntilMs: nowMs + rules.keepSeqMs, closedUntilMs',
      ', seqKeptUntilMs: nowMs + rules.keepSeqMs, closedUntilMs: 0',
    ],
    [
      'a quick renewal shortens',
      'if (expiresAtMs <= member.expiresAtMs) return { state, answer: RENEWED, letters: NO_LETTERS }',
      '',
    ],
    [
      'a quick renewal starts the hold again',
      '{ id, expiresAtMs, sinceMs,',
      '{ id, expiresAtMs, sinceMs: nowMs,',
    ],
    ['the dead are renewed and released quickly', ' && member.expiresAtMs > nowMs', ''],
    ['a stranger renews and releases quickly', ' && member.id === id', ''],
    ['one of several holds is taken for the only one', 'holds.length === 1 ?', 'holds.length > 0 ?'],
    [
      'one of several claims of an owner is taken for the only one',
      'members?.length === 1 ?',
      'members !== undefined ?',
    ],
  ] as const
).map(([mistake, from, to]) => ({ mistake, file: 'quick.ts', from, to, noticedBy: 'quick' }))
