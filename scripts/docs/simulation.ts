import { kept, type Subject, seedsOf } from '../../lab/simulation/results.ts'
import { table } from './table.ts'

const SUBJECTS: Record<Subject, string> = {
  simulation: 'core and model over one store',
  'quorum-simulation': 'several servers that vote',
}

/** All kept runs of the simulation. */
export function simulation(): string {
  const columns = [
    'what is simulated',
    'seeds',
    'virtual hours',
    'faults',
    'grants',
    'violations',
    'seeds that differ',
  ]
  const rows = (Object.keys(SUBJECTS) as Subject[]).map((subject) => {
    const sweeps = kept(subject)
    const sum = (of: (sweep: (typeof sweeps)[number]) => number): string =>
      String(Math.round(sweeps.reduce((total, sweep) => total + of(sweep), 0)))
    return [
      SUBJECTS[subject],
      String(seedsOf(sweeps)),
      ...[sum(({ virtualHours }) => virtualHours), sum(({ faults }) => faults), sum(({ grants }) => grants)],
      ...[sum(({ violations }) => violations), sum(({ differing }) => differing)],
    ]
  })
  return table(columns, rows)
}
