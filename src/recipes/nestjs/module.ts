import { checkFlag, checkLocks, checkObject, checkOptions, type NamesOf } from '../../core/check.ts'
import { connect, createLocks, InvalidArgumentError, type Locks, type LocksOptions } from '../../index.ts'
import { locksToken } from './decorators.ts'

/** The source of the locks: a URL, a store, or your own locks, which are closed with the application too. */
export type LocksSource =
  | ({ readonly url: string } & Omit<LocksOptions, 'store'>)
  | LocksOptions
  | { readonly locks: Locks }

interface Placement {
  /** For applications with several stores: the name for `InjectLocks` and the decorators. */
  readonly name?: string
  /** Every module can inject the locks without importing this one; default true. */
  readonly global?: boolean
}

export type HoldfastOptions = LocksSource & Placement

/** Nest's usual async form: a factory with injected arguments returns the options. */
export interface HoldfastAsyncOptions extends Placement {
  readonly imports?: readonly unknown[]
  readonly inject?: readonly unknown[]
  // biome-ignore lint/suspicious/noExplicitAny: what is injected is up to the user
  useFactory(...args: any[]): LocksSource | Promise<LocksSource>
}

const ASYNC_OPTIONS: NamesOf<HoldfastAsyncOptions> = {
  name: true,
  global: true,
  imports: true,
  inject: true,
  useFactory: true,
}

// biome-ignore lint/suspicious/noExplicitAny: what the framework lists here has types that only it knows
type Parts = any[]

/** The shape of a dynamic module, without the framework's own type. */
interface NestModule {
  module: typeof HoldfastModule
  global: boolean
  imports: Parts
  providers: Parts
  exports: Parts
}

/** Provides `Locks` to a Nest application, and closes them when it shuts down, which releases every lease. */
// biome-ignore lint/complexity/noStaticOnlyClass: the framework wants a class
export class HoldfastModule {
  static forRoot(options: HoldfastOptions): NestModule {
    const { name, global, ...source } = checkObject('options', options)
    return HoldfastModule.forRootAsync({
      ...(name !== undefined && { name }),
      ...(global !== undefined && { global }),
      useFactory: () => source as LocksSource,
    })
  }

  static forRootAsync(options: HoldfastAsyncOptions): NestModule {
    checkOptions('options', options, ASYNC_OPTIONS)
    const { name, global, imports = [], inject = [], useFactory } = options
    for (const [argument, list] of Object.entries({ imports, inject }))
      if (!Array.isArray(list)) throw new InvalidArgumentError(argument, 'must be a list')
    if (typeof useFactory !== 'function') throw new InvalidArgumentError('useFactory', 'must be a function')
    const token = locksToken(name)
    const opener = {
      provide: token,
      inject: [...inject],
      useFactory: async (...args: unknown[]) => open(await useFactory(...args)),
    }
    // After the last request was answered: handlers keep their locks until then.
    const closer = {
      provide: `${token}:closer`,
      inject: [token],
      useFactory: (locks: Locks) => ({ onApplicationShutdown: () => locks.close() }),
    }
    return {
      module: HoldfastModule,
      global: checkFlag('global', global, true),
      imports: [...imports],
      providers: [opener, closer],
      exports: [token],
    }
  }
}

async function open(source: LocksSource): Promise<Locks> {
  checkObject('source', source)
  if ('locks' in source) {
    const { locks, ...others } = source
    checkOptions('source', others, {})
    checkLocks(locks, 'using', 'close')
    return locks
  }
  if (!('url' in source)) return createLocks(source)
  const { url, ...options } = source
  return connect(url, options)
}
