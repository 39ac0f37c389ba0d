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
import type { Known } from './check.ts'

export const LOCKS_OPTIONS: Known<LocksOptions> = {
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

export const ACQUIRE_OPTIONS: Known<AcquireOptions> = {
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

export const PERMIT_OPTIONS: Known<PermitOptions> = { ...ACQUIRE_OPTIONS, weight: true }
export const SEMAPHORE_OPTIONS: Known<SemaphoreOptions> = { ...PERMIT_OPTIONS, limit: true }
export const WITHIN_OPTIONS: Known<WithinOptions> = { wait: true, signal: true }
export const ADOPT_OPTIONS: Known<AdoptOptions> = {
  renew: true,
  maxHold: true,
  ttl: true,
  meta: true,
  actor: true,
  signal: true,
}
export const LIST_OPTIONS: Known<ListOptions> = { prefix: true }
export const EVICT_OPTIONS: Known<EvictOptions> = { token: true, ask: true, by: true }
export const SPIN_OPTIONS: Known<Exclude<Retry, string>> = { spin: true, jitter: true }
