import type { LocksOptions } from './core/api.ts'
import { checkOptions, checkStore } from './core/check.ts'
import { LOCKS_OPTIONS } from './core/option-names.ts'
import { InvalidArgumentError } from './errors.ts'
import { memory } from './stores/memory/index.ts'
import { type Locks, toolkit } from './toolkit.ts'

export { connect } from './connect.ts'
export type {
  AcquireOptions,
  Duration,
  Eviction,
  EvictOptions,
  GroupLease,
  Lease,
  LeaseJson,
  LocalView,
  LocksOptions,
  Mutex,
  PermitOptions,
  ReadWriteLock,
  Retry,
  Work,
  WriteLease,
} from './core/api.ts'
export type { EventName, HoldMeter, Listener, LockEvents, Meter } from './core/events.ts'
export type { ClockFact, DeafFact, Fact, InspectOptions, Remains, UnseenFact } from './core/facts.ts'
export type { TransactionHold } from './core/lease/within.ts'
export type { Runtime, Timer } from './core/runtime.ts'
export type { Admin, Records, Soon, Store, StoreNotice, Traits, Transactions } from './core/store.ts'
export {
  ClosedError,
  type CommandOutcome,
  ConflictError,
  type DeadlockStep,
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
export type { Goods, HolderView, KeyView, WaiterView } from './model/index.ts'
export type {
  Diagnosis,
  DoctorOptions,
  Finding,
  FindingCode,
  Operations,
  ReapedThing,
  ReapOptions,
  Severity,
} from './observe/doctor/index.ts'
export type { CachedOptions } from './recipes/cached.ts'
export { idempotent, locked } from './recipes/decorators.ts'
export type { Election, ElectionEvents, ElectionOptions, Leader } from './recipes/election.ts'
export type { Recipes } from './recipes/index.ts'
export type { Inventory, InventoryOptions, Taken, TakeOptions } from './recipes/inventory.ts'
export type { JobOptions } from './recipes/job.ts'
export type { OnceOptions, OnDuplicate } from './recipes/once.ts'
export type { UpdateOptions } from './recipes/optimistic.ts'
export type { Striped } from './recipes/striped.ts'
export type { Locks } from './toolkit.ts'

/** Locks over a store; without one, over a memory store of their own. */
export function createLocks(options: LocksOptions = {}): Locks {
  if (typeof options === 'string')
    throw new InvalidArgumentError('options', 'must be an object, not a URL: use `await connect(url)`')
  const { store, runtime } = checkOptions('options', options, LOCKS_OPTIONS)
  return toolkit(
    store === undefined ? memory(runtime === undefined ? {} : { runtime }) : checkStore(store),
    options,
  )
}
