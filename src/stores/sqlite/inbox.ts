import {
  chmodSync,
  closeSync,
  type FSWatcher,
  mkdirSync,
  openSync,
  readlinkSync,
  readSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
  utimesSync,
  watch,
} from 'node:fs'
import { join } from 'node:path'
import type { Runtime } from '../../core/runtime.ts'
import type { StoreNotice } from '../../core/store.ts'
import { decodeNotification } from '../shared/notifications.ts'
import { removeDeadInboxes } from './dead-processes.ts'

const NEWLINE = 10
const NOTHING = Buffer.alloc(0)
/** All inboxes share it, because reading is synchronous. */
const chunk = Buffer.allocUnsafe(16 * 1024)

const HOUR_MS = 3_600_000
/** A file that has grown to this is replaced by an empty one. */
const LONGEST_FILE_BYTES = 256 * 1024
/** A sender that opened a file before it was replaced writes to it for no longer than this. */
export const LAST_WRITES_MS = 1000

/** The notifications of other processes to this store. They are hints, so every failure here only makes waiters slower. */
export class SqliteInbox {
  readonly name: string
  private readonly folder: string
  private readonly database: string
  private readonly runtime: Runtime
  private readonly deliver: (notice: StoreNotice) => void
  private current: InboxFile | null = null
  private readonly old = new Set<InboxFile>()
  private seenAtMs = 0

  constructor(database: string, runtime: Runtime, deliver: (notice: StoreNotice) => void) {
    this.database = database
    this.folder = wakeFolder(database)
    this.runtime = runtime
    this.deliver = deliver
    this.name = `${pidNamespace()}-${process.pid}-${runtime.newId()}`
    this.openFile()
    removeDeadInboxes(this.folder, this.name, runtime.wallMs())
  }

  /** Marks the inbox as used once an hour, and creates it again if it was removed. */
  touch(): void {
    const nowMs = this.runtime.nowMs()
    if (nowMs - this.seenAtMs < HOUR_MS) return
    this.seenAtMs = nowMs
    try {
      const seconds = this.runtime.wallMs() / 1000
      utimesSync(join(this.folder, this.name), seconds, seconds)
    } catch {
      this.retire()
      this.openFile()
    }
  }

  close(): void {
    for (const file of this.old) file.close()
    this.old.clear()
    if (this.current === null) return
    this.current.close()
    this.current = null
    ignoringErrors(() => unlinkSync(join(this.folder, this.name)))
    // Succeeds only for the last inbox.
    ignoringErrors(() => rmdirSync(this.folder))
  }

  private openFile(): void {
    this.seenAtMs = this.runtime.nowMs()
    // Another process may remove the folder between the two steps.
    for (let tries = 0; tries < 3 && this.current === null; tries++) {
      ignoringErrors(() => {
        const mode = statSync(this.database).mode & 0o666
        makeFolder(this.folder, mode)
        this.current = new InboxFile(join(this.folder, this.name), mode, (line) => this.receive(line))
        ignoringErrors(() => chmodSync(join(this.folder, this.name), mode))
      })
    }
  }

  private receive(line: string): void {
    const notice = decodeNotification(line)
    if (notice !== null) this.deliver(notice)
    if (this.current !== null && this.current.bytes > LONGEST_FILE_BYTES) {
      this.retire()
      this.openFile()
    }
  }

  /** Reads a replaced file for a while longer. */
  private retire(): void {
    const { current } = this
    if (current === null) return
    this.current = null
    this.old.add(current)
    this.runtime.setTimer(
      () => {
        current.close()
        this.old.delete(current)
      },
      LAST_WRITES_MS,
      true,
    )
  }
}

/** A file to which other processes append lines, and which this process watches. */
class InboxFile {
  private readonly descriptor: number
  private readonly watcher: FSWatcher
  private readonly onLine: (line: string) => void
  private rest = NOTHING
  private open = true
  /** How many bytes of the file were read. */
  bytes = 0

  /** Throws when the file cannot be created or watched, and then leaves nothing behind. */
  constructor(path: string, mode: number, onLine: (line: string) => void) {
    this.onLine = onLine
    // A rename replaces the file atomically while others write to the old one.
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
    // Lines may have come before the watch began.
    this.read()
  }

  /** Delivers whole lines; the beginning of a line waits for its end. */
  read(): void {
    let count = chunk.length
    // A short read is the end of the file.
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

  /** Reads the last lines and closes the file. The inbox removes it. */
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
      // Notifications are hints, and nothing catches an error in this callback: it would end the process.
      return 0
    }
  }
}

export function wakeFolder(database: string): string {
  return `${database}-wake`
}

/** The users who may write the database may send notifications, whatever the umask of this process. */
function makeFolder(folder: string, mode: number): void {
  if (mkdirSync(folder, { recursive: true }) === undefined) return
  const search = (mode & 0o444) >> 2
  chmodSync(folder, mode | search)
}

/** Pids are comparable only within a namespace; two containers may have one each. */
export function pidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0'
  } catch {
    return '0'
  }
}

function ignoringErrors(task: () => void): void {
  try {
    task()
  } catch {
    // Notifications are hints: see the class.
  }
}
