import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { EXPECTATIONS, type Expectations, STORES, type StoreName } from '../expectations.ts'
import { RECOVERY_SLACK_MS, TTL_MS } from '../settings.ts'
import type { Summary } from './summary.ts'

const RESULTS = new URL('../../../docs/results/', import.meta.url)

/** Keeps a run: several add up. */
export function keep(summary: Summary): string {
  const file = `${summary.store}/${summary.seed}.json`
  mkdirSync(new URL(`${summary.store}/`, RESULTS), { recursive: true })
  writeFileSync(new URL(file, RESULTS), `${JSON.stringify(summary, null, 2)}\n`)
  return `docs/results/${file}`
}

/** All runs of a store together. */
export interface Total extends Omit<Summary, 'seed' | 'violations' | 'controlsFlagged'> {
  readonly runs: number
  readonly violations: number
}

export function totals(): Total[] {
  return STORES.map((store) => add(store, kept(store)))
}

function kept(store: StoreName): Summary[] {
  const folder = new URL(`${store}/`, RESULTS)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10))
    .map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Summary)
}

function add(store: StoreName, runs: readonly Summary[]): Total {
  const sum = (of: (run: Summary) => number): number => runs.reduce((total, run) => total + of(run), 0)
  const faults: Record<string, number> = {}
  for (const run of runs)
    for (const [kind, count] of Object.entries(run.faults)) faults[kind] = (faults[kind] ?? 0) + count
  return {
    store,
    runs: runs.length,
    minutes: Math.round(sum(({ minutes }) => minutes) * 10) / 10,
    operations: sum(({ operations }) => operations),
    grants: sum(({ grants }) => grants),
    unknown: sum(({ unknown }) => unknown),
    faults: Object.fromEntries(Object.entries(faults).sort(([one], [other]) => (one < other ? -1 : 1))),
    classA: sum(({ classA }) => classA),
    classB: { refused: sum(({ classB }) => classB.refused), accepted: sum(({ classB }) => classB.accepted) },
    classC: sum(({ classC }) => classC),
    staleWrites: sum(({ staleWrites }) => staleWrites),
    lostWakeUps: sum(({ lostWakeUps }) => lostWakeUps),
    inversions: sum(({ inversions }) => inversions),
    worstRecoveryMs: Math.max(0, ...runs.map(({ worstRecoveryMs }) => worstRecoveryMs)),
    violations: sum(({ violations }) => violations.length),
  }
}

export function faultsOf({ faults }: Pick<Total, 'faults'>): number {
  return Object.values(faults).reduce((sum, count) => sum + count, 0)
}

/** The longest that a key which is wanted may be without a holder after a fault. */
export function recoveryBoundMs(store: StoreName): number {
  return TTL_MS + RECOVERY_SLACK_MS + expectationsOf(store).failoverMs
}

export function expectationsOf(store: StoreName): Expectations {
  return EXPECTATIONS[store]
}
