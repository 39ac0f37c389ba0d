/** The beginning of an argument of so many bytes, with the end of the one before it. */
const HEADS = Array.from({ length: 512 }, (_, bytes) => headOf(bytes))

/** A command as the server reads it. */
export function wireText(command: string, args: readonly string[]): string {
  const text = written(command, args, lettersOf)
  // The server counts bytes; almost always they are as many as the letters.
  return Buffer.byteLength(text) === text.length ? text : written(command, args, Buffer.byteLength)
}

function written(command: string, args: readonly string[], bytesOf: (word: string) => number): string {
  const parts = [`*${args.length + 1}`, headOf(bytesOf(command)), command]
  for (const arg of args) {
    const bytes = bytesOf(arg)
    parts.push(HEADS[bytes] ?? headOf(bytes), arg)
  }
  parts.push('\r\n')
  return parts.join('')
}

function lettersOf(word: string): number {
  return word.length
}

function headOf(bytes: number): string {
  return `\r\n$${bytes}\r\n`
}
