/** An answer of a Redis server; an error inside an array, as `EXEC` may have one, is an element of it. */
export type Reply = string | number | null | RedisError | readonly Reply[]

/** The server's own words. */
export class RedisError extends Error {
  override readonly name = 'RedisError'
}

const END = '\r\n'

/** Cuts the stream of bytes into values. Works both ways: a request is an array of texts. */
export class Decoder {
  private rest = Buffer.alloc(0)

  /** Every value that is complete by now. */
  feed(chunk: Buffer): Reply[] {
    this.rest = Buffer.concat([this.rest, chunk])
    const values: Reply[] = []
    let at = 0
    for (;;) {
      const read = valueAt(this.rest, at)
      if (read === null) break
      at = read.end
      values.push(read.value)
    }
    this.rest = this.rest.subarray(at)
    return values
  }
}

interface Read {
  readonly value: Reply
  readonly end: number
}

function valueAt(bytes: Buffer, start: number): Read | null {
  const stop = bytes.indexOf(END, start)
  if (stop === -1) return null
  const text = bytes.toString('utf8', start + 1, stop)
  const end = stop + END.length
  switch (String.fromCharCode(bytes[start]!)) {
    case '+':
      return { value: text, end }
    case '-':
      return { value: new RedisError(text), end }
    case ':':
      return { value: Number(text), end }
    case '$':
      return textAt(bytes, end, Number(text))
    case '*':
      return arrayAt(bytes, end, Number(text))
    default:
      throw new RedisError('the server does not speak the Redis protocol')
  }
}

function textAt(bytes: Buffer, start: number, length: number): Read | null {
  if (length < 0) return { value: null, end: start }
  const end = start + length + END.length
  return end > bytes.length ? null : { value: bytes.toString('utf8', start, start + length), end }
}

function arrayAt(bytes: Buffer, start: number, length: number): Read | null {
  if (length < 0) return { value: null, end: start }
  const values: Reply[] = []
  let end = start
  for (let index = 0; index < length; index++) {
    const read = valueAt(bytes, end)
    if (read === null) return null
    values.push(read.value)
    end = read.end
  }
  return { value: values, end }
}

export function encodeRequest(words: readonly string[]): string {
  return words.reduce((text, word) => text + bulk(word), `*${words.length}${END}`)
}

/** A reply as a server writes it; texts other than these few travel with their length. */
export function encodeReply(reply: Reply): string {
  if (reply === null) return `$-1${END}`
  if (typeof reply === 'number') return `:${reply}${END}`
  if (reply instanceof RedisError) return `-${reply.message}${END}`
  if (typeof reply === 'string')
    return reply === 'OK' || reply === 'QUEUED' || reply === 'PONG' ? `+${reply}${END}` : bulk(reply)
  return reply.reduce<string>((text, part) => text + encodeReply(part), `*${reply.length}${END}`)
}

function bulk(word: string): string {
  return `$${Buffer.byteLength(word)}${END}${word}${END}`
}
