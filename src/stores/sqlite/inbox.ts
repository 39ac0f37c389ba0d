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
/** Reading is synchronous, so all mailboxes can share it. */
const chunk = Buffer.allocUnsafe(16 * 1024)

const HOUR_MS = 3_600_000
/** A file that has grown to this is replaced by an empty one. */
const LONGEST_FILE_BYTES = 256 * 1024
/** A sender that opened the old file before it was replaced has written its last letter to it before this. */
export const LAST_WRITES_MS = 1000

/** The letters of other processes to this store: hints, so that every failure here only makes waiters slower. */
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

  /** Shows now and then that the inbox is in use, and makes it again if somebody removed it. */
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
    for (const mailbox of this.old) mailbox.close()
    this.old.clear()
    if (this.current === null) return
    this.current.close()
    this.current = null
    ignoringErrors(() => unlinkSync(join(this.folder, this.name)))
    // Succeeds only for the last one.
    ignoringErrors(() => rmdirSync(this.folder))
  }

  private openFile(): void {
    this.seenAtMs = this.runtime.nowMs()
    // The last other process may remove the folder between the two steps.
    for (let tries = 0; tries < 3 && this.current === null; tries++) {
      ignoringErrors(() => {
        const mode = statSync(this.database).mode & 0o666
        makeFolder(this.folder, mode)
        const mailbox = new InboxFile(join(this.folder, this.name), mode, (line) => this.receive(line))
        this.current = mailbox
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

  /** The file that is replaced is read for a while longer. */
  private retire(): void {
    const { current: mailbox } = this
    if (mailbox === null) return
    this.current = null
    this.old.add(mailbox)
    this.runtime.setTimer(
      () => {
        mailbox.close()
        this.old.delete(mailbox)
      },
      LAST_WRITES_MS,
      true,
    )
  }
}

/** One file into which other processes append lines, and whose growth this process is told of. */
class InboxFile {
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

export function wakeFolder(database: string): string {
  return `${database}-wake`
}

/** Whoever may write the database may leave letters: the same people, whatever the process's own mask. */
function makeFolder(folder: string, mode: number): void {
  if (mkdirSync(folder, { recursive: true }) === undefined) return
  const search = (mode & 0o444) >> 2
  chmodSync(folder, mode | search)
}

/** Pids of different namespaces, as of two containers, say nothing about each other. */
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
    // See the class: letters are hints.
  }
}
