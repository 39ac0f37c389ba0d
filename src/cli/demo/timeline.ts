import type { Incident } from './ledger.ts'
import { SALE } from './messages.ts'
import type { SaleRecord } from './witness.ts'

export const MARKS = { held: '█', killed: '✖', paused: '┄', refused: '⊘', idle: '·' } as const

const REMARKS: Partial<Record<Incident['kind'], string>> = {
  killed: 'killed',
  refused: 'paused, late write refused',
}

/** The sales over time: one row for each worker, one column for each slice of time. */
export function timeline(
  { sales, incidents, startedAtMs, endedAtMs }: SaleRecord,
  columns: number,
): string[] {
  const columnOf = (atMs: number): number => {
    const share = (atMs - startedAtMs) / (endedAtMs - startedAtMs)
    return Math.min(columns - 1, Math.max(0, Math.floor(share * columns)))
  }
  return Array.from({ length: SALE.workers }, (_, at) => {
    const worker = at + 1
    const cells: string[] = Array(columns).fill(MARKS.idle)
    const fill = (fromMs: number, toMs: number, mark: string): void => {
      cells.fill(mark, columnOf(fromMs), columnOf(toMs) + 1)
    }
    const own = incidents.filter((incident) => incident.worker === worker)
    const when = (kind: Incident['kind']): number | undefined =>
      own.find((incident) => incident.kind === kind)?.atMs
    for (const sale of sales) if (sale.worker === worker) fill(sale.fromMs, sale.toMs, MARKS.held)
    const [killed, paused, woken, refused] = [when('killed'), when('paused'), when('woken'), when('refused')]
    if (paused !== undefined) fill(paused, woken ?? endedAtMs, MARKS.paused)
    if (refused !== undefined) fill(refused, refused, MARKS.refused)
    if (killed !== undefined) {
      fill(killed, endedAtMs, ' ')
      fill(killed, killed, MARKS.killed)
    }
    const remark = own.map((incident) => REMARKS[incident.kind] ?? '').find(Boolean) ?? ''
    return `worker ${worker}  ${cells.join('')}  ${remark}`.trimEnd()
  })
}

/** The scale under the rows, in seconds. */
export function scale({ startedAtMs, endedAtMs }: SaleRecord, columns: number): string {
  const seconds = (endedAtMs - startedAtMs) / 1_000
  const line: string[] = Array(columns + 4).fill(' ')
  for (let second = 0; second <= seconds; second++) {
    const at = Math.floor((second / seconds) * columns)
    if (at < columns) line.splice(at, `${second} s`.length, ...`${second} s`)
  }
  return `          ${line.join('').trimEnd()}`
}
