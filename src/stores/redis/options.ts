import { type Duration, durationMs, show } from '../../core/durations.ts'
import { nodeRuntime, type Runtime } from '../../core/runtime.ts'
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
}

export interface ReplicaSettings {
  readonly wait: number
  readonly timeoutMs: number
}

const MOST_REPLICAS = 100
const LONGEST_TIMEOUT_MS = 60_000

export function settingsOf(options: RedisOptions): RedisSettings {
  const { format = 'holdfast', replicas, check = true, runtime = nodeRuntime } = options
  if (format !== 'holdfast' && format !== 'plain')
    throw new InvalidArgumentError('format', `must be 'holdfast' or 'plain', not ${show(format)}`)
  if (typeof check !== 'boolean')
    throw new InvalidArgumentError('check', `must be true or false, not ${show(check)}`)
  return { format, replicas: replicas === undefined ? null : replicasOf(replicas), check, runtime }
}

function replicasOf(replicas: NonNullable<RedisOptions['replicas']>): ReplicaSettings {
  if (typeof replicas !== 'object' || replicas === null)
    throw new InvalidArgumentError('replicas', `must be { wait, timeout }, not ${show(replicas)}`)
  const { wait, timeout = 1000 } = replicas
  if (!Number.isSafeInteger(wait) || wait < 1 || wait > MOST_REPLICAS)
    throw new InvalidArgumentError(
      'replicas.wait',
      `must be a whole number from 1 to ${MOST_REPLICAS}, not ${show(wait)}`,
    )
  // WAIT takes 0 for ever.
  const timeoutMs = durationMs('replicas.timeout', timeout, { minMs: 1, maxMs: LONGEST_TIMEOUT_MS })
  return { wait, timeoutMs }
}
