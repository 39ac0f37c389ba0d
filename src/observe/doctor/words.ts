/** A duration in one unit, as evidence shows it. */
export function span(milliseconds: number): string {
  const size = Math.abs(milliseconds)
  if (size < 1000) return `${Math.round(milliseconds)} ms`
  if (size < 120_000) return `${rounded(milliseconds / 1000)} s`
  if (size < 7_200_000) return `${rounded(milliseconds / 60_000)} min`
  return `${rounded(milliseconds / 3_600_000)} h`
}

/** The same as an argument of the command line. */
export function argument(milliseconds: number): string {
  if (milliseconds < 10_000) return `${Math.ceil(milliseconds)}ms`
  return `${Math.ceil(milliseconds / 1000)}s`
}

/** A text as one shell word. */
export function word(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

function rounded(value: number): string {
  return String(Math.abs(value) < 10 ? Math.round(value * 10) / 10 : Math.round(value))
}
