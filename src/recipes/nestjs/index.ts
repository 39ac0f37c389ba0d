export {
  Idempotent,
  type IdempotentOptions,
  InjectLocks,
  Locked,
  type LockedOptions,
  locksToken,
} from './decorators.ts'
export {
  type HoldfastAsyncOptions,
  HoldfastModule,
  type HoldfastOptions,
  type LocksSource,
} from './module.ts'
