/** Controls, directional marks and line separators: they could move the cursor, hide text or forge a line. */
const DANGEROUS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu
const ZERO_WIDTH = /^[\p{Mn}\p{Me}]$/u
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]$|^\p{Emoji_Presentation}$|^[\u{20000}-\u{3fffd}]$/u

/** Text of other users, such as a key or a label, made safe to print. */
export function neutralise(text: string): string {
  return text.replace(DANGEROUS, (character) => escaped(character))
}

/** The text as one word that can be pasted into a shell, made safe to print. */
export function shellWord(text: string): string {
  const safe = neutralise(text)
  return /^[\w@%+=:,./-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", `'\\''`)}'`
}

/** JSON that stays safe on a terminal: `JSON.stringify` leaves DEL, C1 and directional marks as they are. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? part.toString() : part), 2)
  return text.replace(DANGEROUS, (character) => (character === '\n' ? character : jsonEscaped(character)))
}

/** The width of the text in terminal columns. */
export function widthOf(text: string): number {
  let columns = 0
  for (const character of text) columns += ZERO_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1
  return columns
}

/** The text in at most `columns` columns, with an ellipsis if it was cut. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  let kept = ''
  let width = 0
  for (const character of text) {
    width += widthOf(character)
    if (width > columns - 1) break
    kept += character
  }
  return `${kept}…`
}

export function padEnd(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)))
}

export function padStart(text: string, columns: number): string {
  return ' '.repeat(Math.max(0, columns - widthOf(text))) + text
}

/** A duration in readable units: `340 ms`, `12 s`, `2 min 5 s`, `3 h 10 min`, `4 d 2 h`; `-` if it is not known. */
export function age(milliseconds: number | null): string {
  if (milliseconds === null || !Number.isFinite(milliseconds)) return '-'
  if (milliseconds < 1_000) return `${Math.max(0, Math.round(milliseconds))} ms`
  const seconds = Math.floor(milliseconds / 1_000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return pair(seconds, 60, 'min', 1, 's')
  if (seconds < 86_400) return pair(seconds, 3_600, 'h', 60, 'min')
  return pair(seconds, 86_400, 'd', 3_600, 'h')
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

function pair(seconds: number, big: number, bigUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((seconds % big) / small)
  return `${Math.floor(seconds / big)} ${bigUnit}${rest === 0 ? '' : ` ${rest} ${smallUnit}`}`
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return code < 0x100 ? `\\x${hex(code, 2)}` : `\\u{${hex(code, 4)}}`
}

function jsonEscaped(character: string): string {
  return Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at), 4)}`).join(
    '',
  )
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0')
}
