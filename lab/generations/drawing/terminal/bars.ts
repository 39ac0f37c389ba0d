import { padEnd } from '../../../../src/cli/text.ts'
import type { Bars, Tone } from '../../figures.ts'
import type { Paint, Style } from './paint.ts'

const NAME_COLUMNS = 28
const BAR_COLUMNS = 36
const STYLES: Record<Tone, Style> = { good: 'green', bad: 'red', plain: 'cyan' }

/** `no lock   ████████│█████  61 of 40` */
export function barRows({ title, bars, limit }: Bars, paint: Paint): string[] {
  const most = Math.max(...bars.map(({ value }) => value), limit?.value ?? 0, 1)
  const columnOf = (value: number): number => Math.round((value / most) * BAR_COLUMNS)
  const rows = bars.map(({ name, value, tone, remark }) => {
    const cells = [...'█'.repeat(columnOf(value)).padEnd(BAR_COLUMNS)]
    if (limit !== null) cells.splice(columnOf(limit.value), 0, '│')
    return `  ${padEnd(name, NAME_COLUMNS)}${paint(STYLES[tone], cells.join(''))} ${remark}`
  })
  const legend =
    limit === null
      ? []
      : [paint('dim', `${' '.repeat(NAME_COLUMNS + 2 + columnOf(limit.value))}└ ${limit.name}`)]
  return [`  ${paint('bold', title)}`, ...rows, ...legend]
}
