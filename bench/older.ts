import type { Target } from './result.ts'
import { median } from './statistics.ts'

/** An older build of the package, as a contender. */
export interface Older {
  /** As it stands in the tables: `holdfast@d000904`. */
  readonly name: string
  /** Where its `dist` is. */
  readonly folder: string
}

/** Programs of a benchmark inherit it from the process that started them. */
const VARIABLE = 'HOLDFAST_BENCH_OLDER'
/** Formats differ between builds: neither finds what the other wrote. */
export const OLDER_PREFIX = 'older-build:'
const AT_LEAST = 0.9

export let OLDER: Older | null = JSON.parse(process.env[VARIABLE] ?? 'null')
export let OLDER_NAMES: readonly string[] = OLDER === null ? [] : [OLDER.name]

/** Lets an older build take part: before anything else of the benchmarks is loaded. */
export function letTakePart(build: Older): void {
  process.env[VARIABLE] = JSON.stringify(build)
  OLDER = build
  OLDER_NAMES = [build.name]
}

/** A table's entry for the older build, when one takes part. */
export function olderEntry<T>(entry: T): Record<string, T> {
  return OLDER === null ? {} : { [OLDER.name]: entry }
}

/**
 * How a subject compares with the older build in the same rounds, in the middle of all of them; nothing when none takes part.
 * More is better: a cost is handed in as its inverse.
 */
export function timesOlder<T>(
  measured: ReadonlyMap<string, readonly T[]>,
  subject: string,
  figureOf: (round: T) => number,
): Record<string, number> {
  if (OLDER === null) return {}
  const [own = [], theirs = []] = [measured.get(subject), measured.get(OLDER.name)]
  const name = `times ${OLDER.name}`
  if (theirs.length === 0) return { [name]: Number.NaN }
  return { [name]: median(own.map((round, index) => figureOf(round) / figureOf(theirs[index] as T))) }
}

/** Gains stay: at least nine tenths of the older build in the same run. */
export function olderTargets(
  rows: readonly { workload: string; subject: string; figures: Readonly<Record<string, number>> }[],
  ours: string,
): Target[] {
  return rows.flatMap(({ workload, subject, figures }) =>
    Object.entries(figures)
      .filter(
        ([figure, value]) => subject === ours && figure.startsWith('times holdfast@') && !Number.isNaN(value),
      )
      .map(([figure, value]) => ({ what: `${workload}: ${figure}`, value, bound: { atLeast: AT_LEAST } })),
  )
}
