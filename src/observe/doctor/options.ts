import { checkOptions, checkText, type NamesOf } from '../../core/check.ts'
import { type Duration, durationMs, show } from '../../core/durations.ts'
import { InvalidArgumentError } from '../../errors.ts'

export interface DoctorOptions {
  /** Only keys that begin with it. */
  prefix?: string
  /** Names, with `*` for any text, of locks of other programs: checked for a missing ttl. */
  foreign?: readonly string[]
  /** A ttl above this is a finding; by default the `maxTtl` of this object, and ten times the usual for the key. */
  maxTtl?: Duration
  /** The usual time that such keys are held, if no process publishes it (`LocksOptions.habits`). */
  usual?: Duration
  /**
   * A queue that does not move and whose head has waited for so long is critical: ten times the usual by default. Where that is
   * not known, it is a note after 5 s, a warning after 20 s (or a hold of a minute), and critical after a minute.
   */
  stuck?: Duration
  /** The time between the two looks: 1 s by default. */
  watch?: Duration
  /** Leftovers that have been dead for less than this go by themselves and are no finding: 1 h by default. */
  deadFor?: Duration
}

export interface DoctorSettings {
  readonly prefix: string
  readonly foreign: readonly string[]
  readonly maxTtlMs: number | null
  readonly usualMs: number | null
  readonly stuckMs: number | null
  readonly watchMs: number
  readonly deadForMs: number
}

const OPTIONS: NamesOf<DoctorOptions> = {
  prefix: true,
  foreign: true,
  maxTtl: true,
  usual: true,
  stuck: true,
  watch: true,
  deadFor: true,
}
const LONGEST_MS = 365 * 86_400_000
const LONGEST_WATCH_MS = 600_000
const WATCH_MS = 1000
export const DEAD_FOR_MS = 3_600_000
const MOST_PATTERNS = 20

export function doctorSettings(options: DoctorOptions): DoctorSettings {
  const { prefix = '', foreign = [] } = checkOptions('options', options, OPTIONS)
  return {
    prefix: checkText('prefix', prefix),
    foreign: patternsOf(foreign),
    maxTtlMs: optional('maxTtl', options.maxTtl, 1),
    usualMs: optional('usual', options.usual, 1),
    stuckMs: optional('stuck', options.stuck, 0),
    watchMs: durationMs('watch', options.watch ?? WATCH_MS, { minMs: 0, maxMs: LONGEST_WATCH_MS }),
    deadForMs: durationMs('deadFor', options.deadFor ?? DEAD_FOR_MS, { minMs: 0, maxMs: LONGEST_MS }),
  }
}

/** Refuses a pattern that matches everything: it could find any user's data. */
export function patternsOf(patterns: readonly string[]): readonly string[] {
  if (!Array.isArray(patterns) || patterns.length > MOST_PATTERNS)
    throw new InvalidArgumentError('foreign', `must be a list of at most ${MOST_PATTERNS} patterns`)
  for (const pattern of patterns) {
    if (typeof pattern !== 'string' || /^\**$/.test(pattern))
      throw new InvalidArgumentError(
        'foreign',
        `must be a pattern such as 'lock:*' that does not match everything, not ${show(pattern)}`,
      )
  }
  return patterns
}

function optional(name: string, value: Duration | undefined, minMs: number): number | null {
  return value === undefined ? null : durationMs(name, value, { minMs, maxMs: LONGEST_MS })
}
