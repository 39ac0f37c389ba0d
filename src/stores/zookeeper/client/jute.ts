/** ZooKeeper's serialisation: big-endian numbers, and length-prefixed texts, bytes and lists. */

const FIRST_CAPACITY = 4096

/** Writes values into a growing buffer. */
export class JuteWriter {
  private buffer = Buffer.allocUnsafe(FIRST_CAPACITY)
  private length = 0

  get size(): number {
    return this.length
  }

  int(value: number): void {
    this.length = this.room(4).writeInt32BE(value, this.length)
  }

  long(value: bigint): void {
    this.length = this.room(8).writeBigInt64BE(value, this.length)
  }

  bool(value: boolean): void {
    this.length = this.room(1).writeUInt8(value ? 1 : 0, this.length)
  }

  text(value: string): void {
    // Three bytes per unit of UTF-16 always suffice, and cost less than counting.
    const buffer = this.room(4 + value.length * 3)
    const written = buffer.write(value, this.length + 4)
    buffer.writeInt32BE(written, this.length)
    this.length += 4 + written
  }

  bytes(value: Uint8Array): void {
    const buffer = this.room(4 + value.length)
    buffer.writeInt32BE(value.length, this.length)
    buffer.set(value, this.length + 4)
    this.length += 4 + value.length
  }

  list<T>(values: readonly T[], write: (value: T) => void): void {
    this.int(values.length)
    for (const value of values) write(value)
  }

  /** Begins a packet; `end` writes its length before it. */
  begin(): number {
    const start = this.length
    this.room(4)
    this.length += 4
    return start
  }

  end(start: number): void {
    this.buffer.writeInt32BE(this.length - start - 4, start)
  }

  /** Returns a copy of all bytes since the last call. */
  take(): Buffer {
    const taken = Buffer.allocUnsafe(this.length)
    this.buffer.copy(taken, 0, 0, this.length)
    this.clear()
    return taken
  }

  clear(): void {
    this.length = 0
  }

  private room(bytes: number): Buffer {
    const needed = this.length + bytes
    if (needed > this.buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.buffer.length * 2))
      this.buffer.copy(larger, 0, 0, this.length)
      this.buffer = larger
    }
    return this.buffer
  }
}

/** Reads the values of a packet. Throws a `RangeError` if it is too short. */
export class JuteReader {
  private readonly buffer: Buffer
  private offset = 0

  constructor(buffer: Buffer) {
    this.buffer = buffer
  }

  int(): number {
    const value = this.buffer.readInt32BE(this.offset)
    this.offset += 4
    return value
  }

  long(): bigint {
    const value = this.buffer.readBigInt64BE(this.offset)
    this.offset += 8
    return value
  }

  bool(): boolean {
    const value = this.buffer.readUInt8(this.offset)
    this.offset += 1
    return value !== 0
  }

  text(): string {
    const start = this.span()
    return this.buffer.toString('utf8', start, this.offset)
  }

  /** Copies, so that a small value does not keep a large packet in memory. */
  bytes(): Buffer {
    const start = this.span()
    return Buffer.from(this.buffer.subarray(start, this.offset))
  }

  list<T>(read: () => T): T[] {
    const length = this.int()
    const values: T[] = []
    for (let index = 0; index < length; index++) values.push(read())
    return values
  }

  /** A length of -1 stands for a missing value. */
  private span(): number {
    const length = Math.max(this.int(), 0)
    const start = this.offset
    if (start + length > this.buffer.length) throw new RangeError('a packet of ZooKeeper is too short')
    this.offset += length
    return start
  }
}
