import { table } from '../table.ts'
import { age, cut, neutralise, plural, widthOf } from '../text.ts'
import type { TopSnapshot } from './snapshot.ts'

const COLUMNS = [
  { title: 'KEY', atLeast: 8 },
  { title: 'HELD BY', atLeast: 8, drop: 5 },
  { title: 'MODE', drop: 1 },
  { title: 'FOR', align: 'right', drop: 6 },
  { title: 'LEFT', align: 'right', drop: 3 },
  { title: 'QUEUE', align: 'right' },
  { title: 'NEXT', atLeast: 8, drop: 2 },
  { title: 'WAITED', align: 'right', drop: 4 },
] as const

type Paint = (style: 'dim' | 'bold', text: string) => string

/** The lines of one screen, as many as fit. */
export function picture(snapshot: TopSnapshot, columns: number, rows: number, paint: Paint): string[] {
  const [titles, ...lines] = table(COLUMNS, snapshot.keys.map(rowOf), columns)
  const room = Math.max(1, rows - 4)
  const more = lines.length > room ? [paint('dim', `… ${lines.length - room} more`)] : []
  const body =
    lines.length === 0
      ? [paint('dim', cut('nobody holds or waits for anything', columns))]
      : lines.slice(0, room).map((line) => cut(line, columns))
  return [paint('bold', headOf(snapshot, columns)), paint('dim', cut(titles!, columns)), ...body, ...more]
}

/** The rate of grants, if there is room for it. */
function headOf({ held, waiting, grantsPerSecond, at }: TopSnapshot, columns: number): string {
  const counts = `${at.slice(11, 19)}  ${plural(held, 'holder')}, ${waiting} waiting`
  const whole =
    grantsPerSecond === null ? counts : `${counts}, at least ${grantsPerSecond.toFixed(1)} grants/s`
  return widthOf(whole) <= columns ? whole : cut(counts, columns)
}

function rowOf({ key, holders, queue }: TopSnapshot['keys'][number]): string[] {
  const [holder] = holders
  const [next] = queue
  const others = holders.length > 1 ? ` +${holders.length - 1}` : ''
  return [
    neutralise(key),
    holder === undefined ? '-' : neutralise(holder.label) + others,
    holder?.mode ?? next?.mode ?? '',
    age(holder?.heldMs ?? null),
    age(holder?.expiresInMs ?? null),
    queue.length === 0 ? '' : String(queue.length),
    next === undefined ? '' : neutralise(next.label),
    next === undefined ? '' : age(next.waitedMs),
  ]
}
