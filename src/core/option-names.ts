import type {
  AcquireOptions,
  AdoptOptions,
  EvictOptions,
  ListOptions,
  LocksOptions,
  PermitOptions,
  Retry,
  SemaphoreOptions,
  WithinOptions,
} from './api.ts'
import type { NamesOf } from './check.ts'

export const LOCKS_OPTIONS: NamesOf<LocksOptions> = {
  store: true,
  ttl: true,
  wait: true,
  prefix: true,
  label: true,
  handover: true,
  requireFencing: true,
  lockDelay: true,
  maxTtl: true,
  callTimeout: true,
  onDeadlock: true,
  releaseOnSignal: true,
  habits: true,
  runtime: true,
}

export const ACQUIRE_OPTIONS: NamesOf<AcquireOptions> = {
  ttl: true,
  wait: true,
  signal: true,
  renew: true,
  maxHold: true,
  owner: true,
  reentrant: true,
  actor: true,
  retry: true,
  release: true,
  meta: true,
}

export const PERMIT_OPTIONS: NamesOf<PermitOptions> = { ...ACQUIRE_OPTIONS, weight: true }
export const SEMAPHORE_OPTIONS: NamesOf<SemaphoreOptions> = { ...PERMIT_OPTIONS, limit: true }
export const WITHIN_OPTIONS: NamesOf<WithinOptions> = { wait: true, signal: true }
export const ADOPT_OPTIONS: NamesOf<AdoptOptions> = {
  renew: true,
  maxHold: true,
  ttl: true,
  meta: true,
  actor: true,
  signal: true,
}
export const LIST_OPTIONS: NamesOf<ListOptions> = { prefix: true }
export const EVICT_OPTIONS: NamesOf<EvictOptions> = { token: true, ask: true, by: true }
export const SPIN_OPTIONS: NamesOf<Exclude<Retry, string>> = { spin: true, jitter: true }
