import { checkOptions, checkRuntime, type NamesOf } from '../../core/check.ts'
import { CALL_TIMEOUT_MS } from '../../core/durations.ts'
import type { Runtime } from '../../core/runtime.ts'
import { InvalidArgumentError } from '../../errors.ts'
import type { QuorumNode } from './protocol.ts'
import { QuorumStore } from './store.ts'
import { majorityOf } from './tally.ts'

export interface QuorumOptions {
  /** The timeout of one node in milliseconds: a twentieth of the ttl by default, from 100 to 500. */
  nodeTimeoutMs?: number
  runtime?: Runtime
}

const OPTIONS: NamesOf<QuorumOptions> = { nodeTimeoutMs: true, runtime: true }
const SHORTEST_TIMEOUT_MS = 100
const LONGEST_TIMEOUT_MS = 500
const PART_OF_TTL = 0.05

/** The checked options of a quorum. */
export interface QuorumSettings {
  readonly nodeTimeoutMs: number | null
  readonly runtime: Runtime
  /** How long a connection may be silent before it is replaced. */
  readonly callTimeoutMs: number
}

export function quorumSettingsOf(options: QuorumOptions, callTimeoutMs = CALL_TIMEOUT_MS): QuorumSettings {
  const { nodeTimeoutMs, runtime } = checkOptions('options', options, OPTIONS)
  if (nodeTimeoutMs !== undefined && !(Number.isSafeInteger(nodeTimeoutMs) && nodeTimeoutMs >= 1))
    throw new InvalidArgumentError('nodeTimeoutMs', 'must be a whole number of milliseconds, at least 1')
  return { nodeTimeoutMs: nodeTimeoutMs ?? null, runtime: checkRuntime(runtime), callTimeoutMs }
}

/** A store over nodes; warns if their number makes little sense. */
export function assemble(nodes: readonly QuorumNode[], settings: QuorumSettings): QuorumStore {
  const { nodeTimeoutMs, runtime } = settings
  warn(nodes.length)
  return new QuorumStore(nodes, runtime, nodeTimeoutMs === null ? timeoutMs : () => nodeTimeoutMs)
}

/** Small against the ttl, because the lease loses this time; but a busy machine must not look like a dead one. */
export function timeoutMs(ttlMs: number): number {
  return Math.min(Math.max(ttlMs * PART_OF_TTL, SHORTEST_TIMEOUT_MS), LONGEST_TIMEOUT_MS)
}

function warn(nodes: number): void {
  if (nodes >= 3 && nodes % 2 === 1) return
  const spare = nodes - majorityOf(nodes)
  const why =
    nodes < 3
      ? `a quorum of ${nodes} survives no failure: take at least 3 servers`
      : `a quorum of ${nodes} survives ${spare} ${spare === 1 ? 'failure' : 'failures'}, no more than one of ${nodes - 1} would`
  process.emitWarning(why, 'HoldfastWarning')
}
