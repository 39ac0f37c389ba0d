import type { Readable } from 'node:stream'

/** Calls `onLine` with every whole line; the end of the stream, by an error or not, ends it. */
export function eachLine(input: Readable, onLine: (line: string) => void): void {
  let rest = ''
  input.setEncoding('utf8')
  input.on('error', () => {})
  input.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() as string
    for (const line of lines) onLine(line)
  })
}
