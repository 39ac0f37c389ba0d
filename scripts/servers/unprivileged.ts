import { execFileSync } from 'node:child_process'
import { chownSync } from 'node:fs'

/** A program and its arguments, run by another user if we are root: database servers refuse to be. */
export function as(user: string, program: string, args: readonly string[]): [string, string[]] {
  if (!isRoot()) return [program, [...args]]
  return ['setpriv', [`--reuid=${user}`, `--regid=${user}`, '--clear-groups', program, ...args]]
}

/** Makes a folder that user's own. */
export function give(folder: string, user: string): void {
  if (!isRoot()) return
  const id = (kind: string) => Number(execFileSync('id', [kind, user], { encoding: 'utf8' }))
  chownSync(folder, id('-u'), id('-g'))
}

export function isRoot(): boolean {
  return process.getuid?.() === 0
}
