const FIRST_SIZE = 1024
/** A gRPC message begins with a byte for compression and four for its length. */
const FRAME = 5

/** Wire types of protocol buffers. */
const VARINT = 0
const FIXED_64 = 1
const BYTES = 2
const FIXED_32 = 5

/** Writes one message in the format of protocol buffers, framed for gRPC. Fields that have their default are left out. */
export class Writer {
  private buffer = Buffer.allocUnsafe(FIRST_SIZE)
  private at = FRAME

  /** The framed message; the writer may be used again. */
  finish(): Buffer {
    this.buffer[0] = 0
    this.buffer.writeUInt32BE(this.at - FRAME, 1)
    const message = Buffer.from(this.buffer.subarray(0, this.at))
    this.at = FRAME
    return message
  }

  text(field: number, value: string): void {
    if (value === '') return
    this.tag(field, BYTES)
    const length = Buffer.byteLength(value)
    this.varint(length)
    this.reserve(length)
    this.at += this.buffer.write(value, this.at)
  }

  number(field: number, value: number | bigint): void {
    if (value === 0 || value === 0n) return
    this.tag(field, VARINT)
    this.varint(value)
  }

  flag(field: number, value: boolean): void {
    if (value) this.number(field, 1)
  }

  /** Written even if it is zero: the presence of a member of a `oneof` chooses it. */
  chosen(field: number, value: number | bigint): void {
    this.tag(field, VARINT)
    this.varint(value)
  }

  message(field: number, write: () => void): void {
    this.tag(field, BYTES)
    this.reserve(1)
    const lengthAt = this.at++
    write()
    const length = this.at - lengthAt - 1
    if (length < 0x80) {
      this.buffer[lengthAt] = length
      return
    }
    // The length needs more than the one reserved byte.
    const end = this.at
    const more = sizeOf(length) - 1
    this.reserve(more)
    this.buffer.copyWithin(lengthAt + 1 + more, lengthAt + 1, end)
    this.at = lengthAt
    this.varint(length)
    this.at = end + more
  }

  private tag(field: number, type: number): void {
    this.varint(field * 8 + type)
  }

  private varint(value: number | bigint): void {
    this.reserve(10)
    if (typeof value === 'bigint' && value > Number.MAX_SAFE_INTEGER) {
      let rest = value
      while (rest >= 0x80n) {
        this.buffer[this.at++] = Number(rest & 0x7fn) | 0x80
        rest >>= 7n
      }
      this.buffer[this.at++] = Number(rest)
      return
    }
    let rest = Number(value)
    while (rest >= 0x80) {
      this.buffer[this.at++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.buffer[this.at++] = rest
  }

  private reserve(more: number): void {
    if (this.at + more <= this.buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, this.at + more))
    this.buffer.copy(larger, 0, 0, this.at)
    this.buffer = larger
  }
}

/** Reads the fields of one message. */
export class Reader {
  private readonly buffer: Buffer
  private readonly end: number
  private at: number

  constructor(buffer: Buffer, from = 0, end = buffer.length) {
    this.buffer = buffer
    this.at = from
    this.end = end
  }

  /** Calls `read` with the number of each field, and skips a field that it does not read. */
  fields(read: (field: number) => void): void {
    while (this.at < this.end) {
      const tag = this.number()
      const start = this.at
      read(Math.floor(tag / 8))
      if (this.at === start) this.skip(tag % 8)
    }
  }

  /** A number below 2^53: counts, revisions, seconds. */
  number(): number {
    let value = 0
    let scale = 1
    for (;;) {
      const byte = this.byte()
      value += (byte % 0x80) * scale
      if (byte < 0x80) return value
      scale *= 0x80
    }
  }

  /** A number of up to 64 bits: the id of a lease. */
  long(): bigint {
    let value = 0n
    let shift = 0n
    for (;;) {
      const byte = this.byte()
      value |= BigInt(byte % 0x80) << shift
      if (byte < 0x80) return BigInt.asIntN(64, value)
      shift += 7n
    }
  }

  text(): string {
    const length = this.number()
    const from = this.at
    this.at += length
    return this.buffer.toString('utf8', from, this.at)
  }

  message(): Reader {
    const length = this.number()
    const from = this.at
    this.at += length
    return new Reader(this.buffer, from, this.at)
  }

  private skip(type: number): void {
    if (type === VARINT) while (this.byte() >= 0x80);
    else if (type === BYTES) this.message()
    else this.at += type === FIXED_64 ? 8 : type === FIXED_32 ? 4 : 0
  }

  private byte(): number {
    if (this.at >= this.end) throw new RangeError('the message ends too early')
    return this.buffer[this.at++] as number
  }
}

function sizeOf(value: number): number {
  let size = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++
  return size
}
