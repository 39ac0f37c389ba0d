const names = new Map<string, string>()

/**
 * The name under which a statement is prepared. It is made of the text alone, because behind a pooler the same name may
 * have been given by another process, and must mean the same there.
 */
export function statementName(text: string): string {
  let name = names.get(text)
  if (name === undefined) {
    name = `holdfast_${hash(text, 0x811c9dc5)}${hash(text, 0x01234567)}`
    names.set(text, name)
  }
  return name
}

/** FNV-1a: 32 bits from each of two beginnings are far more than a few dozen statements need. */
function hash(text: string, seed: number): string {
  let value = seed
  for (let place = 0; place < text.length; place++)
    value = Math.imul(value ^ text.charCodeAt(place), 0x01000193)
  return (value >>> 0).toString(16).padStart(8, '0')
}
