import { InvalidArgumentError } from '../errors.ts'
import { show } from './durations.ts'
import { nearest } from './nearest.ts'
import { nodeRuntime, type Runtime } from './runtime.ts'
import type { Store } from './store.ts'

/** The names that an object of options may have: the compiler keeps the list complete. */
export type NamesOf<O> = Readonly<Record<keyof O, true>>

/**
 * Refuses a value that is no object, and an unknown name: a misspelt option would be ignored silently.
 * It runs for every acquisition, so it allocates nothing.
 */
export function checkOptions<O extends object>(argument: string, options: O, known: NamesOf<O>): O {
  checkObject(argument, options)
  for (const name in options)
    if (known[name] !== true) throw new InvalidArgumentError(argument, unknownName('option', name, known))
  return options
}

/** Refuses null, a list and any other value without properties. */
export function checkObject<T>(argument: string, value: T): T {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new InvalidArgumentError(argument, `must be an object, not ${show(value)}`)
}

/** Refuses an unknown event, and a listener that is no function. */
export function checkListener(event: unknown, listener: unknown, known: object): void {
  if (typeof event !== 'string')
    throw new InvalidArgumentError('event', `must be the name of an event, not ${show(event)}`)
  if (!Object.hasOwn(known, event)) throw new InvalidArgumentError('event', unknownName('name', event, known))
  checkFunction('listener', listener)
}

export function checkFunction<F>(argument: string, value: F): F {
  if (typeof value === 'function') return value
  throw new InvalidArgumentError(argument, `must be a function, not ${show(value)}`)
}

export function checkText(argument: string, value: string): string {
  if (typeof value === 'string') return value
  throw new InvalidArgumentError(argument, `must be a text, not ${show(value)}`)
}

export function checkFlag(argument: string, value: boolean | undefined, otherwise: boolean): boolean {
  if (value === undefined) return otherwise
  if (typeof value === 'boolean') return value
  throw new InvalidArgumentError(argument, `must be true or false, not ${show(value)}`)
}

export function checkSignal(argument: string, value: AbortSignal | undefined): AbortSignal | undefined {
  if (value === undefined || value instanceof AbortSignal) return value
  throw new InvalidArgumentError(argument, `must be an AbortSignal, not ${show(value)}`)
}

export function checkWholeNumber(argument: string, value: number, min: number, max: number): number {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value
  throw new InvalidArgumentError(argument, `must be a whole number from ${min} to ${max}, not ${show(value)}`)
}

/** Every method of a runtime: the compiler keeps it complete. */
const RUNTIME: NamesOf<Runtime> = {
  nowMs: true,
  wallMs: true,
  setTimer: true,
  defer: true,
  random: true,
  newId: true,
}

export function checkRuntime(value: Runtime | undefined): Runtime {
  if (value === undefined) return nodeRuntime
  if (hasMethods(value, Object.keys(RUNTIME))) return value
  throw new InvalidArgumentError('runtime', `must be a Runtime, not ${show(value)}`)
}

/** Refuses an object that is no store. */
export function checkStore(value: Store): Store {
  if (hasMethods(value, ['attempt', 'renew', 'release', 'notices', 'close'])) {
    const { traits, admin } = value
    if (checkObject('store.traits', traits) && checkObject('store.admin', admin)) return value
  }
  throw new InvalidArgumentError(
    'store',
    `must be a store, such as redis(client) or sqlite(path), not ${show(value)}`,
  )
}

/** Refuses locks without these methods: they would fail only at the first use. */
export function checkLocks(value: unknown, ...methods: readonly string[]): void {
  if (hasMethods(value, methods)) return
  throw new InvalidArgumentError('locks', `must be what createLocks or connect gives, not ${show(value)}`)
}

/** Tells if a value has all these methods. */
export function hasMethods(value: unknown, names: readonly string[]): boolean {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')
}

/** Says that a name is unknown, and names the nearest one. */
export function unknownName(what: string, name: string, known: object): string {
  const names = Object.keys(known)
  const meant = nearest(name, names)
  const advice = meant === undefined ? `it may be one of ${names.join(', ')}` : `did you mean ${show(meant)}?`
  return `has an unknown ${what} ${show(name)}: ${names.length === 0 ? 'it has none' : advice}`
}
