import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'

/**
 * The pids of a group that still run, among the candidates or among all processes. Null if no process of the group is
 * visible at all, not even a zombie: a group that the kernel knows and we cannot see is not known to be gone.
 */
export type FindMembers = (group: number, candidates?: readonly number[]) => Promise<number[] | null>

interface Process {
  readonly pid: number
  readonly group: number
  readonly zombie: boolean
}

export const lookAt: FindMembers = (group, candidates) =>
  (process.platform === 'linux' ? lookInProc : lookByPs)(group, candidates)

export const lookInProc: FindMembers = async (group, candidates) =>
  running(group, (candidates ?? allPids()).map(statOf))

/** For systems without /proc. */
export const lookByPs: FindMembers = async (group, candidates) => {
  const chosen = candidates === undefined ? ['-A'] : ['-p', candidates.join()]
  // `ps` exits 1 when there is no such process.
  const { stdout } = await promisify(execFile)('ps', [
    ...chosen,
    '-o',
    'pid=',
    '-o',
    'pgid=',
    '-o',
    'stat=',
  ]).catch(() => ({ stdout: '' }))
  return running(group, stdout.split('\n').map(lineOf))
}

function running(group: number, seen: readonly (Process | null)[]): number[] | null {
  const members = seen.filter((each): each is Process => each?.group === group)
  return members.length === 0 ? null : members.filter(({ zombie }) => !zombie).map(({ pid }) => pid)
}

function allPids(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}

function statOf(pid: number): Process | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The program name is in parentheses and may contain anything.
    const [state, , group, , , , , , , , , , , , , , , threads] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
    // The first thread of a process may end before the others; only without them the process is a zombie.
    return { pid, group: Number(group), zombie: /[ZX]/.test(state ?? '') && Number(threads) <= 1 }
  } catch {
    return null
  }
}

function lineOf(line: string): Process | null {
  const [, pid, group, state] = /^\s*(\d+)\s+(\d+)\s+(\S+)/.exec(line) ?? []
  return state === undefined
    ? null
    : { pid: Number(pid), group: Number(group), zombie: state.startsWith('Z') }
}
