import { checkText } from '../../core/check.ts'

/** The injection token of `Locks`: one without a name, and any number of named ones. */
export function locksToken(name?: string): string {
  if (name !== undefined) checkText('name', name)
  return name === undefined ? 'HOLDFAST_LOCKS' : `HOLDFAST_LOCKS:${name}`
}
