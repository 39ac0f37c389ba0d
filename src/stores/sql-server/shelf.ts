import type { KeyState } from '../../model/index.ts'

/** The model replaces what it changes, so the same arrays mean the same content. */
export function isSame(before: KeyState, after: KeyState): boolean {
  return (
    before.holds === after.holds &&
    before.queue === after.queue &&
    before.seq === after.seq &&
    before.closedUntilMs === after.closedUntilMs
  )
}
