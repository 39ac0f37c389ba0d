/** A table in Markdown. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(titles), `|${titles.map(() => '---|').join('')}`, ...rows.map(line)].join('\n')
}
