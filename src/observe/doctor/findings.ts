/** `critical`: somebody is harmed now. `warning`: somebody will be. `note`: worth knowing. */
export type Severity = 'critical' | 'warning' | 'note'

/** Every finding that the doctor knows, with its highest severity; `docs/operations.md` is generated from it. */
export const FINDING_KINDS = {
  FOREIGN_NO_TTL: {
    severity: 'warning',
    meaning:
      'Another program locks with a key without an expiry: if that program died, the lock stays taken for ever.',
  },
  TTL_TOO_LONG: {
    severity: 'warning',
    meaning: 'If the holder dies now, the key stays closed for the rest of its ttl.',
  },
  HELD_TOO_LONG: {
    severity: 'warning',
    meaning:
      'The holder has held the key far longer than usual for such keys: it hangs, or its work has grown.',
  },
  DEADLOCK: {
    severity: 'critical',
    meaning: 'A cycle of waits: each member waits for a key that the next one holds, until it times out.',
  },
  LINE_STUCK: {
    severity: 'critical',
    meaning: 'The queue does not move: every waiter in it will time out.',
  },
  DEAD_WAITER: {
    severity: 'warning',
    meaning:
      'A queue position has no live waiter: it delays the waiters behind it by one offer, and expires with its ttl.',
  },
  HOLDER_GONE: {
    severity: 'critical',
    meaning:
      'The process of the holder has ended without a release: the key stays closed until its ttl is over.',
  },
  HOLDER_STOPPED: {
    severity: 'critical',
    meaning:
      'The process behind the key is stopped (SIGSTOP, Ctrl-Z, a debugger): it does no work and does not release.',
  },
  ORPHAN: {
    severity: 'warning',
    meaning: 'A leftover without an owner, which only takes up space.',
  },
  ORPHAN_BLOCKS: {
    severity: 'critical',
    meaning: 'A leftover without an owner, which keeps a key closed for ever.',
  },
  STORE_AT_RISK: {
    severity: 'critical',
    meaning: 'The server is configured so that it can lose locks that are held.',
  },
  CLOCK_OFF: {
    severity: 'warning',
    meaning: 'Clocks differ: their stamps are wrong, and leases end early or late when one is corrected.',
  },
  TTL_TOO_SHORT: {
    severity: 'warning',
    meaning: 'The work often takes longer than the ttl: without renewal the lease is lost before its end.',
  },
} as const satisfies Record<string, { readonly severity: Severity; readonly meaning: string }>

export type FindingCode = keyof typeof FINDING_KINDS

/** One problem, its evidence, and its remedy. */
export interface Finding {
  readonly code: FindingCode
  readonly severity: Severity
  /** The key in the store, with its prefix; null for a finding about no key. */
  readonly key: string | null
  readonly evidence: string
  readonly meaning: string
  /** A command, or a change to make if no command can. */
  readonly fix: string
}

const RANKS: readonly Severity[] = ['critical', 'warning', 'note']

export function finding(
  code: FindingCode,
  key: string | null,
  evidence: string,
  fix: string,
  severity: Severity = FINDING_KINDS[code].severity,
): Finding {
  return { code, severity, key, evidence, meaning: FINDING_KINDS[code].meaning, fix }
}

/** The worst first; otherwise in the order of discovery. */
export function bySeverity(findings: readonly Finding[]): readonly Finding[] {
  return [...findings].sort((one, other) => RANKS.indexOf(one.severity) - RANKS.indexOf(other.severity))
}

export function worstOf(findings: readonly Finding[]): Severity | null {
  return RANKS.find((rank) => findings.some(({ severity }) => severity === rank)) ?? null
}
