/**
 * Names as they stand in a column: as they are, but for those that no database keeps (U+0000, half a character), which are written as
 * JSON behind a backslash; and so is a name that begins with one.
 */
export function encodeName(name: string): string {
  return name.startsWith('\\') || name.includes('\0') || /[\ud800-\udfff]/u.test(name)
    ? `\\${JSON.stringify(name)}`
    : name
}

export function encodeNameOrNull(name: string | null): string | null {
  return name === null ? null : encodeName(name)
}

export function decodeName(text: string): string {
  return text.startsWith('\\') ? JSON.parse(text.slice(1)) : text
}

export function decodeNameOrNull(text: string | null): string | null {
  return text === null ? null : decodeName(text)
}
