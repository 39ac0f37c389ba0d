export { Idempotent, type IdempotentOptions, InjectLocks, Locked, type LockedOptions } from './decorators.ts'
export {
  type HoldfastAsyncOptions,
  HoldfastModule,
  type HoldfastOptions,
  type LocksSource,
} from './module.ts'
export { locksToken } from './token.ts'
