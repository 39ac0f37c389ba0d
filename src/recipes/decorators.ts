import type { AcquireOptions, CoreLocks } from '../core/api.ts'
import { checkFunction, checkLocks, checkOptions } from '../core/check.ts'
import { ACQUIRE_OPTIONS } from '../core/option-names.ts'
import { InvalidArgumentError } from '../errors.ts'
import type { Recipes } from './index.ts'
import { ONCE_OPTIONS, type OnceOptions } from './once.ts'

type Method<This, A extends unknown[], T> = (this: This, ...args: A) => Promise<T>
/** The locks, or a function that finds them in an object. */
export type LocksOf<This, L> = L | ((self: This) => L)

/** Decorates a method in the standard way, or in that of TypeScript's `experimentalDecorators`. */
export interface MethodDecorator<This, A extends unknown[]> {
  <Self extends This, B extends A, T>(
    method: Method<Self, B, T>,
    context: ClassMethodDecoratorContext<Self, Method<Self, B, T>>,
  ): Method<Self, B, T>
  <B extends A, T>(
    target: object,
    name: string | symbol,
    descriptor: TypedPropertyDescriptor<(...args: B) => Promise<T>>,
  ): void
}

type Run<This, A> = (self: This, args: A, work: () => Promise<unknown>) => Promise<unknown>

/** Runs the method under the lock on a key, or on the key computed from its arguments. */
export function locked<This, A extends unknown[]>(
  locks: LocksOf<This, CoreLocks>,
  keyOf: string | ((...args: A) => string),
  options: AcquireOptions = {},
): MethodDecorator<This, A> {
  if (typeof locks !== 'function') checkLocks(locks, 'using')
  if (typeof keyOf !== 'string' && typeof keyOf !== 'function')
    throw new InvalidArgumentError('keyOf', 'must be a text or a function')
  checkOptions('options', options, ACQUIRE_OPTIONS)
  return decorator<This, A>('@locked', async (self, args, work) => {
    const key = typeof keyOf === 'string' ? keyOf : keyOf(...args)
    return resolved(locks, self, 'using').using(key, options, work)
  })
}

/** Runs the method once per id, computed from its arguments; later calls get its result. */
export function idempotent<This, A extends unknown[]>(
  locks: LocksOf<This, Recipes>,
  idOf: (...args: A) => string,
  options: OnceOptions = {},
): MethodDecorator<This, A> {
  if (typeof locks !== 'function') checkLocks(locks, 'once')
  checkFunction('idOf', idOf)
  checkOptions('options', options, ONCE_OPTIONS)
  return decorator<This, A>('@idempotent', async (self, args, work) =>
    resolved(locks, self, 'once').once(idOf(...args), options, work),
  )
}

/** The compiler's settings decide the form of the call: only a standard decorator gets a context. */
function decorator<This, A extends unknown[]>(name: string, run: Run<This, A>): MethodDecorator<This, A> {
  const decorate = (
    target: unknown,
    context: { readonly kind?: unknown } | string | symbol | undefined,
    descriptor?: PropertyDescriptor,
  ): unknown => {
    if (typeof context === 'object') {
      if (context.kind === 'method') return wrapped(target as Method<This, A, unknown>, run)
      throw misplaced(name, `a ${String(context.kind)}`)
    }
    if (context === undefined) throw misplaced(name, 'a class')
    if (typeof descriptor?.value !== 'function') throw misplaced(name, `the member ${String(context)}`)
    descriptor.value = wrapped(descriptor.value, run)
    return undefined
  }
  return decorate as MethodDecorator<This, A>
}

function wrapped<This, A extends unknown[]>(method: Method<This, A, unknown>, run: Run<This, A>): unknown {
  const wrapper = function (this: This, ...args: A): Promise<unknown> {
    return run(this, args, () => method.apply(this, args))
  }
  return Object.defineProperties(wrapper, {
    name: { value: method.name, configurable: true },
    length: { value: method.length, configurable: true },
  })
}

function misplaced(name: string, place: string): InvalidArgumentError {
  return new InvalidArgumentError(name, `must stand on a method, not on ${place}`)
}

function resolved<This, L>(locks: LocksOf<This, L>, self: This, method: 'using' | 'once'): L {
  const found = typeof locks === 'function' ? (locks as (self: This) => L)(self) : locks
  checkLocks(found, method)
  return found
}
