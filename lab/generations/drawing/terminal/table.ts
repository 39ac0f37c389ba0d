import { table } from '../../../../src/cli/table.ts'
import type { Table } from '../../figures.ts'
import type { Paint } from './paint.ts'

const LEAST_COLUMNS = 16

export function tableRows({ title, columns, rows }: Table, paint: Paint, terminalColumns = 140): string[] {
  const shape = columns.map((column, at) => ({
    title: column,
    ...(at === 0 ? {} : { atLeast: LEAST_COLUMNS }),
  }))
  const [head, ...lines] = table(shape, rows, terminalColumns - 3)
  return [`  ${paint('bold', title)}`, `  ${paint('dim', head!)}`, ...lines.map((line) => `  ${line}`)]
}
