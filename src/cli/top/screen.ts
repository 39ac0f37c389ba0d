import { table } from '../table.ts'
import { age, cut, neutralise, plural } from '../text.ts'
import type { Snapshot } from './snapshot.ts'

const COLUMNS = [
  { title: 'KEY', atLeast: 12 },
  { title: 'HELD BY', atLeast: 10 },
  { title: 'MODE' },
  { title: 'FOR', align: 'right' },
  { title: 'LEFT', align: 'right' },
  { title: 'LINE', align: 'right' },
  { title: 'NEXT', atLeast: 8 },
  { title: 'WAITED', align: 'right' },
] as const

type Paint = (style: 'dim' | 'bold', text: string) => string

/** The lines of one picture, as many as fit. */
export function picture(snapshot: Snapshot, columns: number, rows: number, paint: Paint): string[] {
  const { held, waiting, grantsPerSecond, keys, at } = snapshot
  const rate = grantsPerSecond === null ? '' : `, at least ${grantsPerSecond.toFixed(1)} grants/s`
  const head = `${at.slice(11, 19)}  ${plural(held, 'holder')}, ${waiting} waiting${rate}`
  const [titles, ...lines] = table(COLUMNS, keys.map(rowOf), columns)
  const room = Math.max(1, rows - 4)
  const more = lines.length > room ? [paint('dim', `… ${lines.length - room} more`)] : []
  const body =
    lines.length === 0 ? [paint('dim', 'nobody holds or waits for anything')] : lines.slice(0, room)
  return [paint('bold', cut(head, columns)), paint('dim', cut(titles!, columns)), ...body, ...more]
}

function rowOf({ key, holders, line }: Snapshot['keys'][number]): string[] {
  const [holder] = holders
  const [next] = line
  const others = holders.length > 1 ? ` +${holders.length - 1}` : ''
  return [
    neutralise(key),
    holder === undefined ? '-' : neutralise(holder.label) + others,
    holder?.mode ?? next?.mode ?? '',
    age(holder?.heldMs ?? null),
    age(holder?.expiresInMs ?? null),
    line.length === 0 ? '' : String(line.length),
    next === undefined ? '' : neutralise(next.label),
    next === undefined ? '' : age(next.waitedMs),
  ]
}
