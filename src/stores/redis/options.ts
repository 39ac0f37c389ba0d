import { checkFlag, checkOptions, checkRuntime, checkWholeNumber, type Known } from '../../core/check.ts'
import { CALL_TIMEOUT_MS, type Duration, durationMs, show } from '../../core/durations.ts'
import type { Runtime } from '../../core/runtime.ts'
import { InvalidArgumentError } from '../../errors.ts'

export interface RedisOptions {
  /**
   * How locks are written. `'plain'` is `SET key id NX PX` on the key itself, as other libraries and scripts do it, so that
   * both exclude each other: exclusive locks only, without a line. By default `'holdfast'`.
   */
  format?: 'holdfast' | 'plain'
  /**
   * A lease is handed out, and a renewal counts, only when that many replicas have it; else it is taken back and is an
   * outage. WAIT holds up everything else on the connection, for `timeout` at most: 1 s by default.
   */
  replicas?: { wait: number; timeout?: Duration }
  /** Whether the server is looked at once, for settings that endanger locks: default true. */
  check?: boolean
  runtime?: Runtime
}

/** The checked options of a store. */
export interface RedisSettings {
  readonly format: 'holdfast' | 'plain'
  readonly replicas: ReplicaSettings | null
  readonly check: boolean
  readonly runtime: Runtime
  /** How long a connection may be silent before it is replaced, and how long a subscription is waited for. */
  readonly callTimeoutMs: number
}

/** What connections are made with. */
export type ConnectionSettings = Pick<RedisSettings, 'replicas' | 'runtime' | 'callTimeoutMs'>

export interface ReplicaSettings {
  readonly wait: number
  readonly timeoutMs: number
}

const OPTIONS: Known<RedisOptions> = { format: true, replicas: true, check: true, runtime: true }
const REPLICAS: Known<NonNullable<RedisOptions['replicas']>> = { wait: true, timeout: true }
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

/** WAIT holds up everything on its connection, which is not silent for that. */
export function silentMsOf({ callTimeoutMs, replicas }: ConnectionSettings): number {
  return callTimeoutMs + (replicas?.timeoutMs ?? 0)
}
