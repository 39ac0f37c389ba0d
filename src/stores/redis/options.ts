import { checkFlag, checkOptions, checkRuntime, checkWholeNumber, type NamesOf } from '../../core/check.ts'
import { CALL_TIMEOUT_MS, type Duration, durationMs, show } from '../../core/durations.ts'
import { parametersOf } from '../../core/parameters.ts'
import type { Runtime } from '../../core/runtime.ts'
import { InvalidArgumentError } from '../../errors.ts'

export interface RedisOptions {
  /**
   * The format of locks, `'holdfast'` by default. `'plain'` is `SET key id NX PX` on the key itself, as other libraries and scripts
   * do it, so that both exclude each other: exclusive locks only, without a queue.
   */
  format?: 'holdfast' | 'plain'
  /**
   * A grant or a renewal counts only when that many replicas have it; else it is taken back and is an outage. WAIT holds up the
   * connection for at most `timeout`: 1 s by default.
   */
  replicas?: { wait: number; timeout?: Duration }
  /** Checks the server once for settings that endanger locks: default true. */
  check?: boolean
  runtime?: Runtime
}

/** The checked options of a store. */
export interface RedisSettings {
  readonly format: 'holdfast' | 'plain'
  readonly replicas: ReplicaSettings | null
  readonly check: boolean
  readonly runtime: Runtime
  /** The time without an answer after which a connection is replaced, and the deadline of a subscription. */
  readonly callTimeoutMs: number
}

/** The settings of a connection. */
export type ConnectionSettings = Pick<RedisSettings, 'replicas' | 'runtime' | 'callTimeoutMs'>

export interface ReplicaSettings {
  readonly wait: number
  readonly timeoutMs: number
}

const OPTIONS: NamesOf<RedisOptions> = { format: true, replicas: true, check: true, runtime: true }
const REPLICAS: NamesOf<NonNullable<RedisOptions['replicas']>> = { wait: true, timeout: true }
const MOST_REPLICAS = 100
const LONGEST_TIMEOUT_MS = 60_000

export function redisSettingsOf(options: RedisOptions, callTimeoutMs = CALL_TIMEOUT_MS): RedisSettings {
  const { format = 'holdfast', replicas, check, runtime } = checkOptions('options', options, OPTIONS)
  if (format !== 'holdfast' && format !== 'plain')
    throw new InvalidArgumentError('format', `must be 'holdfast' or 'plain', not ${show(format)}`)
  return {
    format,
    replicas: replicas === undefined ? null : replicasOf(replicas),
    check: checkFlag('check', check, true),
    runtime: checkRuntime(runtime),
    callTimeoutMs,
  }
}

function replicasOf(replicas: NonNullable<RedisOptions['replicas']>): ReplicaSettings {
  const { wait, timeout = 1000 } = checkOptions('replicas', replicas, REPLICAS)
  checkWholeNumber('replicas.wait', wait, 1, MOST_REPLICAS)
  // WAIT takes 0 for ever.
  const timeoutMs = durationMs('replicas.timeout', timeout, { minMs: 1, maxMs: LONGEST_TIMEOUT_MS })
  return { wait, timeoutMs }
}

/** A connection that WAIT holds up is not silent. */
export function silentMsOf({ callTimeoutMs, replicas }: ConnectionSettings): number {
  return callTimeoutMs + (replicas?.timeoutMs ?? 0)
}

const PARAMETERS = { format: true, replicas: true, replicasTimeout: true, check: true } as const

/** A URL of Redis and its parameters. */
export interface Parameters<N extends string> {
  /** Without parameters. */
  readonly url: string
  readonly options: RedisOptions
  readonly others: Partial<Record<N, string>>
}

/** Reads `?format=plain&replicas=1&replicasTimeout=500ms&check=off`, and the other parameters of this kind of URL. */
export function redisParametersOf<N extends string>(
  url: string,
  besides: Readonly<Record<N, true>>,
): Parameters<N> {
  const at = url.indexOf('?')
  if (at < 0) return { url, options: {}, others: {} }
  const known: Record<string, true> = { ...PARAMETERS, ...besides }
  const given: Partial<Record<string, string>> = parametersOf(url.slice(at + 1), known)
  const { format, replicas, replicasTimeout, check, ...others } = given
  if (check !== undefined && check !== 'on' && check !== 'off')
    throw new InvalidArgumentError('check', `must be on or off, not ${show(check)}`)
  const options: RedisOptions = {
    ...(format !== undefined && { format: format as 'plain' }),
    ...((replicas ?? replicasTimeout) !== undefined && {
      replicas: givenReplicas(replicas, replicasTimeout),
    }),
    ...(check !== undefined && { check: check === 'on' }),
  }
  return { url: url.slice(0, at), options, others: others as Partial<Record<N, string>> }
}

function givenReplicas(wait = '', timeout?: string): NonNullable<RedisOptions['replicas']> {
  return {
    wait: /^\d+$/.test(wait) ? Number(wait) : Number.NaN,
    ...(timeout !== undefined && { timeout: /^\d+$/.test(timeout) ? Number(timeout) : timeout }),
  }
}
