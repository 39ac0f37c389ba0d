import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/** The kernel's ticks per second, on every architecture of Node. */
const TICKS_PER_SECOND = 100
/** The kernel reports its boot time in whole seconds. */
const SLACK_MS = 2000

/**
 * The reason why the process behind a label `host:pid` cannot be the one that claimed at `sinceMs`; null if it may be alive,
 * for example on another host or with a custom label.
 */
export function whyGone(label: string, sinceMs: number): string | null {
  const pid = pidOf(label)
  if (pid === null || pid === process.pid) return null
  if (!exists(pid)) return `there is no process ${pid} on this host`
  const started = startOf(pid)
  if (started === null) return null
  if (started.state === 'Z') return `process ${pid} has ended and is not yet collected`
  if (started.atMs > sinceMs + SLACK_MS) return `process ${pid} is another one, which began later`
  return null
}

/** The stopped process: the one of a label of this host, or the only child that it has started. */
export function stoppedPid(label: string): number | null {
  const pid = pidOf(label)
  if (pid === null) return null
  if (isStopped(pid)) return pid
  const [child, ...others] = childrenOf(pid)
  return child !== undefined && others.length === 0 && isStopped(child) ? child : null
}

/** True if this machine can tell that the process of a label is gone or stopped. */
export function isVisible(label: string): boolean {
  const pid = pidOf(label)
  return pid !== null && (startOf(pid) !== null || !exists(pid))
}

function pidOf(label: string): number | null {
  const [, host, digits] = /^(.+):(\d{1,9})$/.exec(label) ?? []
  return host === hostname() && digits !== undefined ? Number(digits) : null
}

/** Stopped by a signal or a debugger. */
function isStopped(pid: number): boolean {
  return /^t$/i.test(startOf(pid)?.state ?? '')
}

/** Empty without /proc. */
function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return children.split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** Null without /proc, or without access to this process. */
function startOf(pid: number): { readonly state: string; readonly atMs: number } | null {
  try {
    const boot = /^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1]
    const [, rest] = /^\d+ \(.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
    const fields = rest?.split(' ') ?? []
    const ticks = Number(fields[19])
    if (boot === undefined || !Number.isFinite(ticks)) return null
    return { state: fields[0] ?? '', atMs: (Number(boot) + ticks / TICKS_PER_SECOND) * 1000 }
  } catch {
    return null
  }
}
