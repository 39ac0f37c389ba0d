import { readdirSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from './location.ts'

const DAY_MS = 24 * 3_600_000
const NAME = /^(?<namespace>\d+)-(?<pid>\d+)-[\w-]+(?:\.new)?$/

/** Whether text from the database is the name of an inbox, and not a way to another file. */
export function isInboxName(name: string): boolean {
  return NAME.test(name) && !name.endsWith('.new')
}

/**
 * Whether the process of an inbox has ended: it will never come, and an offer would cost the others its life. A process of another pid
 * namespace cannot be seen from here, so it counts as running.
 */
export function isGone(inbox: string, namespace: string): boolean {
  const parts = NAME.exec(inbox)?.groups
  return parts !== undefined && parts.namespace === namespace && !isRunning(Number(parts.pid))
}

/** Removes the inboxes that killed processes left, and those that nobody has used for a day. */
export function removeDeadInboxes(folder: string, ownName: string, wallMs: number): void {
  const ownNamespace = NAME.exec(ownName)?.groups?.namespace
  for (const name of namesIn(folder)) {
    const parts = NAME.exec(name)?.groups
    if (parts === undefined) continue
    const path = join(folder, name)
    const pid = Number(parts.pid)
    const near = parts.namespace === ownNamespace
    if (near && pid === process.pid) continue
    try {
      const gone = near && !isRunning(pid)
      if (gone || statSync(path).mtimeMs < wallMs - DAY_MS) unlinkSync(path)
    } catch {
      // Another process was faster, or may not be cleaned up after by this user.
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** A pid that is in use again keeps its inbox for a day; that is all. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}
