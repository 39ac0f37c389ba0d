import type { Incident } from './ledger.ts'
import { type Refusal, SALE, type Sale } from './messages.ts'
import type { Stock } from './stock.ts'

/** The record of one sale. */
export interface SaleRecord {
  readonly guarded: boolean
  readonly startedAtMs: number
  readonly endedAtMs: number
  readonly sales: readonly Sale[]
  readonly refusals: readonly Refusal[]
  readonly incidents: readonly Incident[]
  readonly turnedAway: number
  /** The stock file at the end. */
  readonly stock: Stock
}

export interface SaleTally {
  readonly phase: string
  readonly stock: number
  readonly sold: number
  readonly oversoldBy: number
  readonly unitsSoldTwice: number
  /** Null without a token check. */
  readonly lateWritesRefused: number | null
  readonly seconds: number
}

/** Counts the promises to buyers, not the contents of the file. */
export function tallyOf({ guarded, sales, refusals, startedAtMs, endedAtMs }: SaleRecord): SaleTally {
  const timesSold = new Map<number, number>()
  for (const { unit } of sales) timesSold.set(unit, (timesSold.get(unit) ?? 0) + 1)
  return {
    phase: guarded ? 'with Holdfast' : 'no lock',
    stock: SALE.units,
    sold: sales.length,
    oversoldBy: Math.max(0, sales.length - SALE.units),
    unitsSoldTwice: [...timesSold.values()].filter((times) => times > 1).length,
    lateWritesRefused: guarded ? refusals.length : null,
    seconds: Math.round((endedAtMs - startedAtMs) / 100) / 10,
  }
}

/** The parts of the promise that the guarded sale broke; empty if it kept all. */
export function brokenPromises(result: SaleRecord): string[] {
  const { sales, stock, incidents, refusals } = result
  const { sold, unitsSoldTwice } = tallyOf(result)
  const promised = sales.map(({ unit }) => unit)
  const struck = (kind: Incident['kind']): Incident | undefined =>
    incidents.find((incident) => incident.kind === kind)
  const paused = struck('paused')
  const checks: [kept: boolean, broken: string][] = [
    [sold === SALE.units, `units sold: ${sold}, not ${SALE.units}`],
    [unitsSoldTwice === 0, `units sold more than once: ${unitsSoldTwice}`],
    [stock.left === 0, `units left in stock: ${stock.left}`],
    [sameNumbers(promised, stock.sold), 'the stock does not agree with what buyers were promised'],
    [struck('killed') !== undefined, 'no worker was killed, so nothing was shown'],
    [paused !== undefined && struck('woken') !== undefined, 'no worker was paused, so nothing was shown'],
    [
      refusals.some(({ worker }) => worker === paused?.worker),
      'the late write of the paused worker was not refused',
    ],
  ]
  return checks.filter(([kept]) => !kept).map(([, broken]) => broken)
}

function sameNumbers(one: readonly number[], other: readonly number[]): boolean {
  const sorted = (numbers: readonly number[]): string => numbers.toSorted((a, b) => a - b).join()
  return sorted(one) === sorted(other)
}
