import { LockError } from '../index.ts'

/** The meanings of the exit codes. They are fixed: scripts test for them. */
export const EXIT = {
  ok: 0,
  /** The answer is no: nothing to evict, or a broken promise. */
  failed: 1,
  /** `doctor` alone: somebody is harmed now. */
  critical: 2,
  usage: 64,
  unavailable: 69,
  /** A bug in Holdfast. */
  internal: 70,
  /** The lock was not acquired in time; the command was not started. */
  busy: 75,
  /** The lease was lost; the command was ended. */
  lost: 76,
  cannotExecute: 126,
  notFound: 127,
} as const

/** The caller's mistake; the message names it. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A child process of ours failed; its own exit code gives the kind of error. */
export class ChildError extends Error {
  override readonly name = 'ChildError'
  readonly exitCode: number

  constructor(message: string, exitCode: number | null) {
    super(message)
    this.exitCode = exitCode ?? EXIT.internal
  }
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof ChildError) return error.exitCode
  if (error instanceof UsageError) return EXIT.usage
  if (!(error instanceof LockError)) return EXIT.internal
  switch (error.code) {
    case 'LOCK_TIMEOUT':
      return EXIT.busy
    case 'LEASE_LOST':
    case 'STALE_TOKEN':
      return EXIT.lost
    case 'STORE_UNAVAILABLE':
      return EXIT.unavailable
    case 'INVALID_ARGUMENT':
    case 'UNSUPPORTED':
    case 'CONFLICT':
      return EXIT.usage
    case 'CLOSED':
    case 'TRANSACTION_FAILED':
      return EXIT.internal
  }
}
