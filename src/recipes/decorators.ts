import type { AcquireOptions, Locks } from '../core/api.ts'
import type { Recipes } from './index.ts'
import type { OnceOptions } from './once.ts'

type Method<This, A extends unknown[], T> = (this: This, ...args: A) => Promise<T>
/** The locks, or where an object keeps them. */
export type LocksOf<This, L> = L | ((self: This) => L)

/** A standard method decorator: the method runs under the lock on the key that its arguments have. */
export function locked<This, A extends unknown[], T>(
  locks: LocksOf<This, Locks>,
  keyOf: string | ((...args: A) => string),
  options: AcquireOptions = {},
) {
  return (method: Method<This, A, T>, _context: ClassMethodDecoratorContext<This, Method<This, A, T>>) =>
    async function (this: This, ...args: A): Promise<T> {
      const key = typeof keyOf === 'string' ? keyOf : keyOf(...args)
      return resolved(locks, this).using(key, options, () => method.apply(this, args))
    }
}

/** A standard method decorator: the method runs once per id that its arguments have; later calls get its result. */
export function idempotent<This, A extends unknown[], T>(
  locks: LocksOf<This, Recipes>,
  idOf: (...args: A) => string,
  options: OnceOptions = {},
) {
  return (method: Method<This, A, T>, _context: ClassMethodDecoratorContext<This, Method<This, A, T>>) =>
    async function (this: This, ...args: A): Promise<T> {
      return (await resolved(locks, this).once(idOf(...args), options, () => method.apply(this, args))) as T
    }
}

function resolved<This, L>(locks: LocksOf<This, L>, self: This): L {
  return typeof locks === 'function' ? (locks as (self: This) => L)(self) : locks
}
