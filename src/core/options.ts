import { hostname } from 'node:os'
import { InvalidArgumentError, type StoreError, UnsupportedError } from '../errors.ts'
import type { Mode } from '../model/index.ts'
import type { AcquireOptions, LocksOptions } from './api.ts'
import {
  checkFlag,
  checkOptions,
  checkRuntime,
  checkSignal,
  checkWholeNumber,
  type NamesOf,
} from './check.ts'
import { CALL_TIMEOUT_MS, type Duration, durationMs, show } from './durations.ts'
import { ACQUIRE_OPTIONS, LOCKS_OPTIONS, PERMIT_OPTIONS, SPIN_OPTIONS } from './option-names.ts'
import type { ActorFrame } from './reentry/actors.ts'
import type { Runtime } from './runtime.ts'
import type { Store } from './store.ts'

export const SHORTEST_TTL_MS = 10
const LONGEST_KEY_BYTES = 512
const LONGEST_TTL_MS = 86_400_000
const LONGEST_NAME_BYTES = 256
const LONGEST_META_BYTES = 2048
const MOST_PERMITS = 1_000_000
/** 60 random bits. */
const PROCESS_ID_LENGTH = 10
/** The limit of a signed 32-bit number of milliseconds on every store: 24 days. */
const HARD_TTL_MS = 2 ** 31 - 1

/** The checked options of a `Locks` object. */
export interface Settings {
  readonly ttlMs: number
  readonly maxTtlMs: number
  readonly waitMs: number
  readonly prefix: string
  readonly label: string
  readonly handover: boolean
  readonly lockDelayMs: number
  readonly callTimeoutMs: number
  readonly releaseOnSignal: boolean
  readonly onDeadlock: 'abort' | 'report' | null
  /** Appended to every actor's name for deadlock detection, so that it is unique among all processes. */
  readonly actorSuffix: string
  readonly habits: boolean
  readonly runtime: Runtime
}

/** One checked request for one key. */
export interface LockRequest {
  readonly key: string
  readonly storeKey: string
  readonly mode: Mode
  readonly ttlMs: number
  readonly waitMs: number
  /** The error of an earlier attempt in the same wait. */
  readonly outage: StoreError | null
  readonly signal: AbortSignal | null
  readonly renew: boolean
  readonly maxHoldMs: number
  readonly owner: string | null
  /** Its name in the store. */
  readonly actor: string | null
  /** The caller's own name for it. */
  readonly named: string | null
  /** Null without deadlock detection. */
  readonly frame: ActorFrame | null
  readonly spin: { readonly everyMs: number; readonly jitter: number } | null
  readonly meta: string | null
  readonly reentrant: boolean
  readonly backgroundRelease: boolean
  /** The same in every event of this request; null without a listener for `entered`. */
  readonly ref: object | null
}

export const EXCLUSIVE: Mode = { kind: 'exclusive' }
export const SHARED: Mode = { kind: 'shared' }

export function settingsOf(options: LocksOptions, store: Store): Settings {
  checkOptions('options', options, LOCKS_OPTIONS)
  const maxTtlMs = durationMs('maxTtl', or(options.maxTtl, LONGEST_TTL_MS), {
    minMs: SHORTEST_TTL_MS,
    maxMs: HARD_TTL_MS,
  })
  if (checkFlag('requireFencing', options.requireFencing, false) && store.traits.fencing === 'none') {
    throw new UnsupportedError(
      `the ${store.traits.name} store has no ordered fencing tokens, and requireFencing is set`,
    )
  }
  const lockDelayMs = durationMs('lockDelay', or(options.lockDelay, 0), { minMs: 0, maxMs: LONGEST_TTL_MS })
  if (lockDelayMs > 0 && !store.traits.lockDelay)
    throw new UnsupportedError(`the ${store.traits.name} store cannot keep a key closed after an expiry`)
  const onDeadlock = onDeadlockOf(options.onDeadlock)
  const runtime = checkRuntime(options.runtime)
  return {
    ttlMs: durationMs('ttl', or(options.ttl, Math.min(10_000, maxTtlMs)), {
      minMs: SHORTEST_TTL_MS,
      maxMs: maxTtlMs,
    }),
    maxTtlMs,
    waitMs: waitOf(or(options.wait, 10_000)),
    prefix: text('prefix', or(options.prefix, ''), 0, LONGEST_NAME_BYTES),
    label: text('label', or(options.label, `${hostname()}:${process.pid}`), 1, LONGEST_NAME_BYTES),
    handover: checkFlag('handover', options.handover, true),
    lockDelayMs,
    callTimeoutMs: callTimeoutOf(options.callTimeout),
    releaseOnSignal: checkFlag('releaseOnSignal', options.releaseOnSignal, false),
    onDeadlock,
    actorSuffix: onDeadlock === null ? '' : `@${runtime.newId().slice(0, PROCESS_ID_LENGTH)}`,
    habits: habitsOf(checkFlag('habits', options.habits, false), store),
    runtime,
  }
}

export function callTimeoutOf(value: Duration | undefined): number {
  return durationMs('callTimeout', or(value, CALL_TIMEOUT_MS), { minMs: 10, maxMs: LONGEST_TTL_MS })
}

function habitsOf(wanted: boolean, { traits }: Store): boolean {
  if (!wanted || traits.records) return wanted
  throw new UnsupportedError(`the ${traits.name} store has no records to keep habits in`)
}

/** The default for `undefined` only: null is a mistake that gets an error. */
function or<T>(value: T | undefined, otherwise: T): T {
  return value === undefined ? otherwise : value
}

/** Checks a key and the options of one request, once. */
export function requestOf(
  key: string,
  mode: Mode,
  options: AcquireOptions | undefined,
  settings: Settings,
): LockRequest {
  const storeKey = storeKeyOf(key, settings.prefix)
  const given = options === undefined ? NO_OPTIONS : checkOptions('options', options, knownFor(mode))
  const named = given.actor === undefined ? null : text('actor', given.actor, 1, LONGEST_NAME_BYTES)
  const { actorSuffix } = settings
  return {
    key,
    storeKey,
    mode,
    ttlMs:
      given.ttl === undefined
        ? settings.ttlMs
        : durationMs('ttl', given.ttl, { minMs: SHORTEST_TTL_MS, maxMs: settings.maxTtlMs }),
    waitMs: given.wait === undefined ? settings.waitMs : waitOf(given.wait),
    outage: null,
    signal: checkSignal('signal', given.signal) ?? null,
    renew: checkFlag('renew', given.renew, true),
    maxHoldMs:
      given.maxHold === undefined
        ? Number.POSITIVE_INFINITY
        : durationMs('maxHold', given.maxHold, { minMs: 1, maxMs: Number.MAX_SAFE_INTEGER, infinity: true }),
    owner: given.owner === undefined ? null : text('owner', given.owner, 1, LONGEST_NAME_BYTES),
    actor: actorSuffix === '' ? named : (named ?? '') + actorSuffix,
    named,
    frame: null,
    spin: spinOf(given.retry),
    meta: given.meta === undefined ? null : metaOf(given.meta),
    reentrant: checkFlag('reentrant', given.reentrant, false),
    backgroundRelease: releaseOf(given.release),
    ref: null,
  }
}

/** Only permits have a weight: elsewhere it would be ignored silently. */
function knownFor({ kind }: Mode): NamesOf<AcquireOptions> {
  return kind === 'permits' ? PERMIT_OPTIONS : ACQUIRE_OPTIONS
}

const NO_OPTIONS: AcquireOptions = {}
const PLAIN_KEY = /^[\x20-\x7e]{1,128}$/

export function storeKeyOf(key: string, prefix: string): string {
  if (prefix === '' && typeof key === 'string' && PLAIN_KEY.test(key)) return key
  text('key', key, 1, LONGEST_KEY_BYTES)
  const storeKey = prefix + key
  if (Buffer.byteLength(storeKey) > LONGEST_KEY_BYTES) {
    throw new InvalidArgumentError(
      'key',
      `must have at most ${LONGEST_KEY_BYTES} bytes together with the prefix`,
    )
  }
  return storeKey
}

export function permitsOf(limit: number, weight: number): Mode {
  checkWholeNumber('limit', limit, 1, MOST_PERMITS)
  checkWholeNumber('weight', weight, 1, limit)
  return { kind: 'permits', limit, weight }
}

function waitOf(value: number | string): number {
  return durationMs('wait', value, { minMs: 0, maxMs: Number.MAX_SAFE_INTEGER, infinity: true })
}

/** Well-formed text without U+0000: on no store may two spellings mean one key. */
function text(argument: string, value: string, minBytes: number, maxBytes: number): string {
  if (typeof value !== 'string')
    throw new InvalidArgumentError(argument, `must be a text, not ${show(value)}`)
  const bytes = Buffer.byteLength(value)
  if (bytes < minBytes || bytes > maxBytes) {
    throw new InvalidArgumentError(argument, `must have ${minBytes} to ${maxBytes} bytes, not ${bytes}`)
  }
  if (!isWellFormed(value))
    throw new InvalidArgumentError(argument, 'must be well-formed Unicode: it has a lone surrogate')
  if (value.includes('\0')) throw new InvalidArgumentError(argument, 'must not contain U+0000')
  return value
}

/** ES2024, present in every supported Node but not yet in the library we compile against. */
function isWellFormed(value: string): boolean {
  return (value as string & { isWellFormed(): boolean }).isWellFormed()
}

function spinOf(retry: AcquireOptions['retry']): LockRequest['spin'] {
  if (retry === undefined || retry === 'queue') return null
  if (typeof retry !== 'object' || retry === null) {
    throw new InvalidArgumentError('retry', `must be 'queue' or { spin, jitter }, not ${show(retry)}`)
  }
  checkOptions('retry', retry, SPIN_OPTIONS)
  const everyMs = durationMs('retry.spin', retry.spin, { minMs: 1, maxMs: 3_600_000 })
  const jitter = retry.jitter ?? 0.5
  if (typeof jitter !== 'number' || !(jitter >= 0 && jitter <= 1)) {
    throw new InvalidArgumentError('retry.jitter', `must be a number from 0 to 1, not ${show(jitter)}`)
  }
  return { everyMs, jitter }
}

function releaseOf(release: AcquireOptions['release']): boolean {
  if (release === undefined || release === 'await') return false
  if (release !== 'background')
    throw new InvalidArgumentError('release', `must be 'await' or 'background', not ${show(release)}`)
  return true
}

function onDeadlockOf(value: LocksOptions['onDeadlock']): Settings['onDeadlock'] {
  if (value === undefined) return null
  if (value !== 'abort' && value !== 'report')
    throw new InvalidArgumentError('onDeadlock', `must be 'abort' or 'report', not ${show(value)}`)
  return value
}

function metaOf(meta: unknown): string {
  let json: string | undefined
  try {
    json = JSON.stringify(meta)
  } catch (error) {
    throw new InvalidArgumentError('meta', `cannot be written as JSON: ${String(error)}`)
  }
  if (json === undefined) throw new InvalidArgumentError('meta', `cannot be written as JSON: ${show(meta)}`)
  if (Buffer.byteLength(json) > LONGEST_META_BYTES) {
    throw new InvalidArgumentError('meta', `must have at most ${LONGEST_META_BYTES} bytes as JSON`)
  }
  return json
}
