import { chmodSync, mkdirSync, readlinkSync, rmdirSync, statSync, unlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import type { Runtime } from '../../core/runtime.ts'
import type { StoreNotice } from '../../core/store.ts'
import { decodeLetter } from '../shared/notifications.ts'
import { removeDeadInboxes } from './dead-processes.ts'
import { Mailbox } from './mailbox.ts'

const HOUR_MS = 3_600_000
/** A file that has grown to this is replaced by an empty one. */
const LONGEST_MAILBOX_BYTES = 256 * 1024
/** A sender that opened the old file before it was replaced has written its last letter to it before this. */
export const LAST_LETTERS_MS = 1000

/** The letters of other processes to this store: hints, so that every failure here only makes waiters slower. */
export class Inbox {
  readonly name: string
  private readonly folder: string
  private readonly database: string
  private readonly runtime: Runtime
  private readonly deliver: (notice: StoreNotice) => void
  private mailbox: Mailbox | null = null
  private readonly old = new Set<Mailbox>()
  private seenAtMs = 0

  constructor(database: string, runtime: Runtime, deliver: (notice: StoreNotice) => void) {
    this.database = database
    this.folder = wakeFolder(database)
    this.runtime = runtime
    this.deliver = deliver
    this.name = `${pidNamespace()}-${process.pid}-${runtime.newId()}`
    this.openMailbox()
    removeDeadInboxes(this.folder, this.name, runtime.wallMs())
  }

  /** Shows now and then that the inbox is in use, and makes it again if somebody removed it. */
  keep(): void {
    const nowMs = this.runtime.nowMs()
    if (nowMs - this.seenAtMs < HOUR_MS) return
    this.seenAtMs = nowMs
    try {
      const seconds = this.runtime.wallMs() / 1000
      utimesSync(join(this.folder, this.name), seconds, seconds)
    } catch {
      this.retire()
      this.openMailbox()
    }
  }

  close(): void {
    for (const mailbox of this.old) mailbox.close()
    this.old.clear()
    if (this.mailbox === null) return
    this.mailbox.close()
    this.mailbox = null
    ignoringErrors(() => unlinkSync(join(this.folder, this.name)))
    // Succeeds only for the last one.
    ignoringErrors(() => rmdirSync(this.folder))
  }

  private openMailbox(): void {
    this.seenAtMs = this.runtime.nowMs()
    // The last other process may remove the folder between the two steps.
    for (let tries = 0; tries < 3 && this.mailbox === null; tries++) {
      ignoringErrors(() => {
        const mode = statSync(this.database).mode & 0o666
        makeFolder(this.folder, mode)
        const mailbox = new Mailbox(join(this.folder, this.name), mode, (line) => this.receive(line))
        this.mailbox = mailbox
        ignoringErrors(() => chmodSync(join(this.folder, this.name), mode))
      })
    }
  }

  private receive(line: string): void {
    const notice = decodeLetter(line)
    if (notice !== null) this.deliver(notice)
    if (this.mailbox !== null && this.mailbox.bytes > LONGEST_MAILBOX_BYTES) {
      this.retire()
      this.openMailbox()
    }
  }

  /** The file that is replaced is read for a while longer. */
  private retire(): void {
    const { mailbox } = this
    if (mailbox === null) return
    this.mailbox = null
    this.old.add(mailbox)
    this.runtime.setTimer(
      () => {
        mailbox.close()
        this.old.delete(mailbox)
      },
      LAST_LETTERS_MS,
      true,
    )
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
