import { readdirSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from './location.ts'

const DAY_MS = 24 * 3_600_000
const NAME = /^(?<namespace>\d+)-(?<pid>\d+)-[\w-]+(?:\.new)?$/

/** True if text from the database is the name of an inbox, and not a path to another file. */
export function isInboxName(name: string): boolean {
  return NAME.test(name) && !name.endsWith('.new')
}

/**
 * True if the process of an inbox has ended: an offer to it would only cost the other waiters time. A process of another pid
 * namespace cannot be seen from here, so it counts as running.
 */
export function isGone(inbox: string, namespace: string): boolean {
  const parts = NAME.exec(inbox)?.groups
  return parts !== undefined && parts.namespace === namespace && !isRunning(Number(parts.pid))
}

/** Removes the inboxes of killed processes, and inboxes that were not used for a day. */
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
      // Another process removed it first, or this user may not remove it.
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

/** A reused pid only keeps an inbox for a day. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}
