import type { Locks, LocksOptions } from './core/api.ts'
import { StoreLocks } from './core/locks.ts'
import { memory } from './stores/memory/index.ts'

export { connect } from './connect.ts'
export type {
  AcquireOptions,
  Duration,
  EvictOptions,
  GroupLease,
  Lease,
  LeaseJson,
  LocalView,
  Locks,
  LocksOptions,
  Mutex,
  PermitOptions,
  ReadWriteLock,
  Retry,
  Work,
  WriteLease,
} from './core/api.ts'
export type { EventName, Listener, LockEvents } from './core/events.ts'
export type { Runtime, Timer } from './core/runtime.ts'
export type { Admin, Records, Soon, Store, StoreNotice, Traits } from './core/store.ts'
export {
  ClosedError,
  type CommandOutcome,
  ConflictError,
  ERRORS,
  type ErrorCode,
  InvalidArgumentError,
  LeaseLostError,
  LockError,
  LockTimeoutError,
  StaleTokenError,
  StoreError,
  type TimeoutDetails,
  TransactionError,
  UnsupportedError,
} from './errors.ts'
export type { HolderView, KeyView, WaiterView } from './model/index.ts'

/** Locks over a store; without one, over a memory store of their own. */
export function createLocks(options: LocksOptions = {}): Locks {
  return new StoreLocks(
    options.store ?? memory(options.runtime === undefined ? {} : { runtime: options.runtime }),
    options,
  )
}
