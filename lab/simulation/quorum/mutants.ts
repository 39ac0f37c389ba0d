import { type Mutant, mutant } from '../mutants.ts'

const election = 'src/stores/quorum/election.ts'

/** Planted bugs of a quorum: what other implementations got wrong. */
export const QUORUM_MUTANTS: readonly Mutant[] = [
  mutant(
    'validity not subtracted',
    'src/core/acquire/grant.ts',
    'const validUntilMs = validUntil(sentAtMs, ttlMs)',
    'const validUntilMs = validUntil(nowMs, ttlMs)',
  ),
  mutant(
    'quorum off by one',
    'src/stores/quorum/tally.ts',
    'return Math.floor(nodes / 2) + 1',
    'return Math.floor(nodes / 2)',
  ),
  mutant('no rollback', election, 'if (alone) this.takeBack(round, ballot)', ''),
  mutant(
    'rollback only on nodes that said yes',
    'src/stores/quorum/nodes.ts',
    "if (vote !== undefined && vote.kind !== 'granted') continue",
    "if (vote?.kind !== 'granted') continue",
  ),
  mutant(
    'token without write-back',
    election,
    'const common = commonOf(asked, round.needed)',
    'const common = commonOf(asked, round.needed) ?? (asked === round ? Math.max(...seqsOf(asked)) : null)',
  ),
  mutant(
    'drift ignored under skew',
    'src/core/lease/hold.ts',
    'return Math.ceil(durationMs * 0.01) + 2',
    'return 0 * durationMs',
  ),
  mutant(
    'naive counter at each node',
    'src/stores/quorum/node-model/answer.ts',
    'nextSeq(draft.seq, ballot < FIRST_PROPOSAL ? clock.stampUs : ballot)',
    'draft.seq + 1',
  ),
]
