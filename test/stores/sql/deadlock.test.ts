import { ConflictError, createLocks } from 'holdfast'
import { describe, expect, it } from 'vitest'
import { nodeRuntime } from '../../../src/core/runtime.ts'
import type { SessionServer } from '../../../src/stores/sql-server/advisory/session-server.ts'
import { AdvisoryStore } from '../../../src/stores/sql-server/advisory/store.ts'
import { ADVISORY_TRAITS } from '../../../src/stores/sql-server/mysql/advisory.ts'
import { StatementTimeout } from '../../../src/stores/sql-server/statement-timeout.ts'

/** A server that refuses a lock because of a deadlock: the servers of these tests do so only after a wait. */
function circular(error: object): SessionServer {
  return {
    traits: ADVISORY_TRAITS,
    nameOf: (key) => key,
    open: async () => ({
      run: async (steps) => {
        if (steps.some(({ kind }) => kind === 'lock')) throw Object.assign(new Error('deadlock'), error)
        return steps.map(() => false)
      },
      keepFor: async () => {},
      holders: async () => [],
      close: async () => {},
    }),
    close: async () => {},
  }
}

describe('a deadlock of sessions', () => {
  it.each([{ code: '40P01' }, { code: 'ER_LOCK_DEADLOCK', errno: 1213 }, { errno: 3058 }])(
    'reported as %o is a ConflictError, at once',
    async (error) => {
      const locks = createLocks({
        store: new AdvisoryStore(circular(error), nodeRuntime, new StatementTimeout(nodeRuntime)),
      })
      await expect(locks.acquire('key', { wait: 20_000 })).rejects.toThrow(ConflictError)
      await locks.close()
    },
  )
})
