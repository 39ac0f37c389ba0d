import { readdirSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { KeyState } from '../../../model/index.ts'
import { codeOf } from './location.ts'

const DAY_MS = 24 * 3_600_000
const NAME = /^(?<namespace>\d+)-(?<pid>\d+)-[\w-]+(?:\.new)?$/

/** Whether text from the database is the name of an inbox, and not a way to another file. */
export function isInboxName(name: string): boolean {
  return NAME.test(name) && !name.endsWith('.new')
}

/** The next in line is in a process that has ended: it will never come, and an offer would cost the others its life. */
export function withoutDead(state: KeyState, namespace: string): KeyState {
  let dead = 0
  for (const { inbox } of state.line) {
    if (inbox === null || !isGone(inbox, namespace)) break
    dead++
  }
  return dead === 0 ? state : { ...state, line: state.line.slice(dead) }
}

/** A process of another pid namespace cannot be seen from here, so it counts as running. */
function isGone(inbox: string, namespace: string): boolean {
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
