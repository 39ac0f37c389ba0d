import { nodeRuntime } from '../../../src/core/runtime.ts'
import type { Claim } from '../../../src/model/index.ts'

export function claimOf(key: string, rest: Partial<Claim> = {}): Claim {
  return {
    key,
    id: nodeRuntime.newId(),
    mode: { kind: 'exclusive' },
    ttlMs: 10_000,
    queue: true,
    owner: null,
    actor: null,
    label: 'tester',
    meta: null,
    lockDelayMs: 0,
    group: null,
    replaces: null,
    ...rest,
  }
}
