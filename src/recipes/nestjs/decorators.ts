import { Inject } from '@nestjs/common'
import { checkOptions, checkText, type NamesOf } from '../../core/check.ts'
import { ACQUIRE_OPTIONS } from '../../core/option-names.ts'
import {
  type AcquireOptions,
  InvalidArgumentError,
  type Locks,
  type OnceOptions,
  UnsupportedError,
} from '../../index.ts'
import { ONCE_OPTIONS } from '../once.ts'

/** The injection token of `Locks`: one without a name, and any number of named ones. */
export function locksToken(name?: string): string {
  if (name !== undefined) checkText('name', name)
  return name === undefined ? 'HOLDFAST_LOCKS' : `HOLDFAST_LOCKS:${name}`
}

/** Selects one of several named locks. */
interface Named {
  readonly locks?: string
}

export type LockedOptions = AcquireOptions & Named
export type IdempotentOptions = OnceOptions & Named

const LOCKED: NamesOf<LockedOptions> = { ...ACQUIRE_OPTIONS, locks: true }
const IDEMPOTENT: NamesOf<IdempotentOptions> = { ...ONCE_OPTIONS, locks: true }

// biome-ignore lint/suspicious/noExplicitAny: whatever the method answers, as TypeScript's own type for decorators has it
type Method<A extends unknown[]> = (...args: A) => Promise<any>
type MethodDecorator<A extends unknown[]> = (
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Method<A>>,
) => void
type Run<A> = (locks: Locks, args: A, work: () => Promise<unknown>) => Promise<unknown>

/** Injects the locks, or the locks of that name, into a constructor parameter or a property. */
export function InjectLocks(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(locksToken(name)) as PropertyDecorator & ParameterDecorator
}

/** Runs the method under the lock on a key, or on the key computed from its arguments. */
// biome-ignore lint/suspicious/noExplicitAny: one key for all arguments
export function Locked<A extends unknown[] = any[]>(
  key: string | ((...args: A) => string),
  given: LockedOptions = {},
): MethodDecorator<A> {
  const { locks, ...options } = checkOptions('options', given, LOCKED)
  const keyOf = typeof key === 'string' ? () => key : key
  if (typeof keyOf !== 'function') throw new InvalidArgumentError('key', 'must be a text or a function')
  return wrapping<A>(locks, (found, args, work) => found.using(keyOf(...args), options, work))
}

/** Runs the method once per id, computed from its arguments; later calls, in any process, get its result. */
export function Idempotent<A extends unknown[]>(
  idOf: (...args: A) => string,
  given: IdempotentOptions = {},
): MethodDecorator<A> {
  const { locks, ...options } = checkOptions('options', given, IDEMPOTENT)
  if (typeof idOf !== 'function') throw new InvalidArgumentError('idOf', 'must be a function')
  return wrapping<A>(locks, (found, args, work) => found.once(idOf(...args), options, work))
}

/** The framework injects the locks into a property of every instance, where the method finds them. */
function wrapping<A extends unknown[]>(locks: string | undefined, run: Run<A>): MethodDecorator<A> {
  const token = locksToken(locks)
  const property = Symbol.for(`holdfast.${token}`)
  return (target, name, descriptor) => {
    const method = descriptor?.value
    if (typeof method !== 'function')
      throw new InvalidArgumentError(
        'decorator',
        'must stand on a method, with "experimentalDecorators" as the framework has them',
      )
    // The framework injects into instances, not into classes.
    if (typeof target === 'function')
      throw new InvalidArgumentError(
        'decorator',
        `must stand on a method of objects: ${String(name)} is static`,
      )
    Inject(token)(target, property)
    const wrapper = async function (this: { [property]?: Locks }, ...args: A): Promise<unknown> {
      const found = this[property]
      if (found === undefined)
        throw new UnsupportedError(
          `${String(name)} is called on an object that the framework did not make, or without HoldfastModule`,
        )
      return run(found, args, () => method.apply(this, args))
    }
    describeAs(wrapper, method)
    descriptor.value = wrapper
  }
}

/** Copies the metadata of other decorators, such as routes and guards, to the wrapper. */
function describeAs(wrapper: object, method: { readonly name: string; readonly length: number }): void {
  Object.defineProperty(wrapper, 'name', { value: method.name, configurable: true })
  Object.defineProperty(wrapper, 'length', { value: method.length, configurable: true })
  const { getMetadataKeys, getMetadata, defineMetadata } = Reflect as unknown as Metadata
  for (const key of getMetadataKeys(method)) defineMetadata(key, getMetadata(key, method), wrapper)
}

/** The package `reflect-metadata`, a dependency of the framework. */
interface Metadata {
  getMetadataKeys(target: object): unknown[]
  getMetadata(key: unknown, target: object): unknown
  defineMetadata(key: unknown, value: unknown, target: object): void
}
