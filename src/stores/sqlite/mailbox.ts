import { closeSync, type FSWatcher, openSync, readSync, renameSync, unlinkSync, watch } from 'node:fs'

const NEWLINE = 10
const NOTHING = Buffer.alloc(0)
/** Reading is synchronous, so all mailboxes can share it. */
const chunk = Buffer.allocUnsafe(16 * 1024)

/** One file into which other processes append lines, and whose growth this process is told of. */
export class InboxFile {
  private readonly descriptor: number
  private readonly watcher: FSWatcher
  private readonly onLine: (line: string) => void
  private rest = NOTHING
  private open = true
  /** How much of the file was read. */
  bytes = 0

  /** Throws when the file cannot be made or not be watched, and leaves nothing behind then. */
  constructor(path: string, mode: number, onLine: (line: string) => void) {
    this.onLine = onLine
    // Renamed into its place, so that it can replace one that others are writing to without a moment in between.
    const unnamed = `${path}.new`
    this.descriptor = openSync(unnamed, 'ax+', mode)
    let current = unnamed
    try {
      renameSync(unnamed, path)
      current = path
      this.watcher = watch(path, { persistent: false }, () => this.read())
      this.watcher.on('error', () => {})
    } catch (error) {
      closeSync(this.descriptor)
      unlinkSync(current)
      throw error
    }
    // For what came before it was watched.
    this.read()
  }

  /** Whole lines are handed on; the beginning of one waits for its end. */
  read(): void {
    let count = chunk.length
    // Less than was asked for is the end of the file.
    while (this.open && count === chunk.length) {
      count = this.readChunk()
      this.bytes += count
      const fresh = chunk.subarray(0, count)
      const bytes = this.rest.length === 0 ? fresh : Buffer.concat([this.rest, fresh])
      const end = bytes.lastIndexOf(NEWLINE)
      this.rest = end === bytes.length - 1 ? NOTHING : Buffer.from(bytes.subarray(end + 1))
      if (end < 0) continue
      for (const line of bytes.toString('utf8', 0, end).split('\n')) this.onLine(line)
    }
  }

  /** Reads what came last and lets go of the file; removing it is up to the owner of its name. */
  close(): void {
    if (!this.open) return
    this.read()
    this.open = false
    this.watcher.close()
    closeSync(this.descriptor)
  }

  private readChunk(): number {
    try {
      return readSync(this.descriptor, chunk, 0, chunk.length, this.bytes)
    } catch {
      // Letters are hints; an error here would end the process, because nobody called.
      return 0
    }
  }
}
