/** `critical`: somebody is harmed now. `warning`: somebody will be. `note`: worth knowing. */
export type Severity = 'critical' | 'warning' | 'note'

/** Every finding that the doctor knows, with its highest severity; `docs/operations.md` is generated from it. */
export const SICKNESSES = {
  FOREIGN_NO_TTL: {
    severity: 'warning',
    meaning:
      'Another program locks with a key that has no end: if that program died, nobody ever gets the lock again.',
  },
  TTL_TOO_LONG: {
    severity: 'warning',
    meaning: 'If the holder dies now, the key stays closed for all that is left of its ttl.',
  },
  HELD_TOO_LONG: {
    severity: 'warning',
    meaning:
      'The holder has the key far longer than is usual for such keys: it hangs, or its work has grown.',
  },
  DEADLOCK: {
    severity: 'critical',
    meaning:
      'Each of them waits for a key that the next one holds: without help they wait until they time out.',
  },
  LINE_STUCK: {
    severity: 'critical',
    meaning: 'Somebody waits, and nothing moves: every waiter behind will run into its time limit.',
  },
  DEAD_WAITER: {
    severity: 'warning',
    meaning:
      'A place in the line belongs to nobody: it costs those behind it the time of an offer, and goes when its ttl is over.',
  },
  HOLDER_GONE: {
    severity: 'critical',
    meaning:
      'The process that held the key has ended without a release: the key stays closed until its ttl is over.',
  },
  HOLDER_STOPPED: {
    severity: 'critical',
    meaning:
      'The process behind the key is stopped (SIGSTOP, Ctrl-Z, a debugger): it does no work and does not let go.',
  },
  ORPHAN: {
    severity: 'warning',
    meaning: 'What lies there belongs to nobody and only takes up room.',
  },
  ORPHAN_BLOCKS: {
    severity: 'critical',
    meaning: 'What lies there belongs to nobody and keeps a key closed for ever.',
  },
  STORE_AT_RISK: {
    severity: 'critical',
    meaning: 'The server is set up so that it can lose locks that somebody holds.',
  },
  CLOCK_OFF: {
    severity: 'warning',
    meaning:
      'Clocks differ: what is stamped or shown by them is wrong, and leases end early or late when one is put right.',
  },
  TTL_TOO_SHORT: {
    severity: 'warning',
    meaning:
      'The work often takes longer than the ttl: only renewal carries it, and without renewal the lease is lost half-way.',
  },
} as const satisfies Record<string, { readonly severity: Severity; readonly meaning: string }>

export type FindingCode = keyof typeof SICKNESSES

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
  severity: Severity = SICKNESSES[code].severity,
): Finding {
  return { code, severity, key, evidence, meaning: SICKNESSES[code].meaning, fix }
}

/** The worst first; otherwise in the order of discovery. */
export function bySeverity(findings: readonly Finding[]): readonly Finding[] {
  return [...findings].sort((one, other) => RANKS.indexOf(one.severity) - RANKS.indexOf(other.severity))
}

export function worstOf(findings: readonly Finding[]): Severity | null {
  return RANKS.find((rank) => findings.some(({ severity }) => severity === rank)) ?? null
}
