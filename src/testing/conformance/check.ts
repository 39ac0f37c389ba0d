import type { Traits } from '../../core/store.ts'
import type { Mode } from '../../model/index.ts'
import type { Scene } from './scene.ts'
import type { FaultHooks } from './target.ts'

/** Returns why a case does not apply, or null if it does. */
export type Need = (traits: Traits, hooks: FaultHooks) => string | null

export interface Check {
  readonly name: string
  readonly needs: readonly Need[]
  readonly run: (scene: Scene) => Promise<void>
}

export function check(name: string, run: Check['run']): Check
export function check(name: string, needs: Need | readonly Need[], run: Check['run']): Check
export function check(name: string, needs: Need | readonly Need[] | Check['run'], run?: Check['run']): Check {
  if (run === undefined) return { name, needs: [], run: needs as Check['run'] }
  return { name, needs: typeof needs === 'function' ? [needs as Need] : needs, run }
}

export const ordered: Need = ({ order }) => (order === 'fifo' ? null : 'the store keeps no queue')
export const pushing: Need = ({ wakeUp }) =>
  wakeUp === 'push' ? null : 'the store tells nobody: waiters look again by themselves'
export const fencing: Need = (traits) =>
  traits.fencing === 'none' ? 'the store has no ordered tokens' : null
export const adopting: Need = ({ adoption }) =>
  adoption ? null : 'the store cannot hand a lease to another process'
export const owning: Need = ({ owners }) => (owners ? null : 'the store has no named owners')
export const delaying: Need = ({ lockDelay }) =>
  lockDelay ? null : 'the store cannot keep a key closed after an expiry'
export const grouping: Need = ({ groups }) =>
  groups ? null : 'the store cannot grant several keys in one step'
export const recording: Need = ({ records }) => (records ? null : 'the store keeps no records')
export const remembering: Need = ({ session }) =>
  session === true
    ? 'a lock belongs to its connection: others cannot end it, describe it or outlive it'
    : null
export const sharing = modeOf('shared')
export const permitting = modeOf('permits')

/** For a case about something the store cannot do; a store that can has nothing to refuse. */
export function lacking(need: Need): Need {
  return (traits, hooks) => (need(traits, hooks) === null ? 'the store can do this' : null)
}

export function hooked(hook: keyof FaultHooks): Need {
  return (_traits, hooks) => (hooks[hook] === undefined ? `needs the fault hook ${hook}` : null)
}

function modeOf(kind: Mode['kind']): Need {
  return ({ modes }) => (modes.includes(kind) ? null : `the store has no ${kind} mode`)
}
