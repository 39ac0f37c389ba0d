import type { Bench, Context } from './context.ts'
import { type Curve, type CurvePanel, plotCurves } from './curves.ts'
import { Cells } from './growth/cell.ts'
import { type Extent, type Figures, OURS, type Part, STORES, type StoreName } from './growth/part.ts'
import { PARTS } from './growth/parts.ts'
import { PEER_SETTINGS } from './growth/peers.ts'
import { growthTargets, subjectOf, workloadOf } from './growth/targets.ts'
import type { Machine } from './machine.ts'
import { OLDER_NAMES } from './older.ts'
import { installPeers, peerVersions } from './peers.ts'
import type { Result, Row } from './result.ts'
import { median } from './statistics.ts'

export const GROWTH_PROGRAM = new URL('./programs/growth.ts', import.meta.url)

const ROUNDS = { full: 3, quick: 1, tiny: 1 }
/** Without servers to start; Redis is what most targets are about. */
const TINY_STORES: readonly StoreName[] = ['memory', 'sqlite', 'redis']
const PACKAGES = ['redlock5', 'redis-semaphore']
const LEAST = new Set(['served'])
const MOST = new Set(['errors', 'lost', 'overlaps', 'overtook the writer', 'slowest call ms'])

const NOTES: readonly string[] = [
  'Defaults throughout, wait: Infinity. Locks objects of one process share a client or pool where the store takes one. The quorum has three servers; databases wait for the disk.',
  'Waiters wait behind a holder that lets go once all have joined; their waits count from then. Each takes one turn, and a crowd below 1,000 comes several times.',
  'A measurement that is not done by its deadline (60 s, or 180 s where much has to be prepared) counts what was served until then, by the whole time. Rounds of all in turn: figures are the middle of three rounds, served the least, errors, lost leases and the slowest call the most.',
  'Innocent: another process takes and gives back a key of its own every 10 ms meanwhile. Slowest call: of a script, by SLOWLOG; 0.1 ms or less is 0.1. Redis runs with priority over its clients where that is allowed.',
  PEER_SETTINGS,
]

async function run({ bundle, size, only, stores, quick, progress }: Context): Promise<Result> {
  const extent: Extent = size === 'tiny' ? 'tiny' : quick ? 'quick' : 'full'
  const parts = chosen(
    '--only',
    PARTS.map(({ name }) => name),
    only,
  )
  const measured = chosen('--stores', STORES, stores ?? (extent === 'tiny' ? TINY_STORES : undefined))
  if (extent !== 'tiny' && measured.includes('redis')) installPeers(progress)
  const rows: Row[] = []
  for (const store of measured) {
    progress(`growth: ${store}, servers`)
    const cells = await Cells.start(store, bundle.path(GROWTH_PROGRAM), extent)
    try {
      for (const part of PARTS) {
        if (parts.includes(part.name)) rows.push(...(await measure(cells, part, extent, progress)))
      }
    } finally {
      await cells.stop()
    }
  }
  const versions = Object.entries(extent === 'tiny' ? {} : peerVersions()).filter(([name]) =>
    PACKAGES.includes(name),
  )
  const overlaps = rows.reduce((sum, { figures }) => sum + (figures.overlaps ?? 0), 0)
  return {
    notes: NOTES,
    rows,
    targets: growthTargets(rows),
    overlaps,
    versions: Object.fromEntries(versions),
  }
}

/** Every size of every contender in turn, so that whatever else the machine does meets them all. */
async function measure(
  cells: Cells,
  part: Part,
  extent: Extent,
  progress: Context['progress'],
): Promise<readonly Row[]> {
  const { store } = cells
  const each = part.sizes(store, extent).flatMap((n) => {
    const peers = extent === 'tiny' ? [] : (part.peers?.(store, n, extent) ?? [])
    return [OURS, ...OLDER_NAMES, ...peers].map((subject) => ({ subject, n, rounds: [] as Figures[] }))
  })
  for (let round = 0; round < ROUNDS[extent]; round++) {
    for (const { subject, n, rounds } of round % 2 === 0 ? each : each.toReversed()) {
      const found = await cells.measure(part, subject, n)
      rounds.push(found)
      progress(`growth: ${store}, ${part.name}, ${subjectOf(subject, n)}: ${said(found)}`)
    }
  }
  return each.map(({ subject, n, rounds }) => ({
    workload: workloadOf(store, part),
    subject: subjectOf(subject, n),
    figures: together(rounds),
  }))
}

function said({
  served = 0,
  wanted = Number.NaN,
  errors = 0,
  lost = 0,
  'per second': rate = 0,
}: Figures): string {
  const trouble = errors + lost > 0 ? `, ${errors} errors, ${lost} lost` : ''
  return `${served} of ${wanted} served, ${rate.toFixed(rate < 10 ? 1 : 0)} a second${trouble}`
}

/** A round whose process told nothing is one that served nobody. */
function together(rounds: readonly Figures[]): Figures {
  const names = [...new Set(rounds.flatMap((round) => Object.keys(round)))]
  return Object.fromEntries(
    names.map((name) => {
      const values = rounds.map((round) => round[name] ?? (name === 'served' ? 0 : Number.NaN))
      if (LEAST.has(name)) return [name, Math.min(...values)]
      if (MOST.has(name)) return [name, Math.max(...values.filter((value) => !Number.isNaN(value)))]
      return [name, median(values.filter((value) => !Number.isNaN(value)))]
    }),
  )
}

function chosen<T extends string>(
  option: string,
  all: readonly T[],
  wanted: readonly string[] | undefined,
): T[] {
  const unknown = wanted?.filter((name) => !all.includes(name as T)) ?? []
  if (unknown.length > 0) throw new Error(`${option} knows ${all.join(', ')} here, not ${unknown.join(', ')}`)
  return all.filter((name) => wanted === undefined || wanted.includes(name))
}

function draw({ rows }: Result, { cpu, cores, node }: Machine): string {
  const panels = PARTS.flatMap((part): CurvePanel[] => {
    const title = `${part.title[0]!.toUpperCase()}${part.title.slice(1)}`
    const rate = { title, x: part.unit, y: part.plotted, curves: curvesOf(rows, part, part.plotted) }
    const innocent = {
      title: 'An innocent key beside them',
      x: part.unit,
      y: 'p99 of its lock and release, ms',
      curves: curvesOf(rows, part, 'innocent p99 ms', [OURS]),
    }
    return [rate, ...(part.name === 'waiters' ? [innocent] : [])].filter(({ curves }) => curves.length > 0)
  })
  return plotCurves(panels, `npm run bench -- growth, ${cpu}, ${cores} cores, Node ${node}`)
}

function curvesOf(rows: readonly Row[], part: Part, figure: string, only?: readonly string[]): Curve[] {
  return STORES.flatMap((store): Curve[] => {
    const own = rows.filter(({ workload }) => workload === workloadOf(store, part))
    const subjects = [...new Set(own.map(({ subject }) => subject.slice(0, subject.lastIndexOf(', '))))]
    return subjects
      .filter((subject) => only === undefined || only.includes(subject))
      .map((subject) => ({
        name: subject === OURS ? store : subject,
        kind: subject === OURS ? ('ours' as const) : ('peer' as const),
        points: own
          .filter((row) => row.subject === subjectOf(subject, row.figures.N ?? 0))
          .map(({ figures }) => [figures.N ?? Number.NaN, figures[figure] ?? Number.NaN] as const)
          .filter(([, value]) => value > 0),
      }))
      .filter(({ points }) => points.length > 0)
  })
}

/** Stores, parts and sizes can be measured at different times. */
export const GROWTH: Bench = { run, judge: growthTargets, bySubject: true, draw }
