import { ConflictError, LeaseLostError, LockError, UnsupportedError } from '../../errors.ts'
import type { Claim, ClaimAnswer, Granted, Refused } from '../../model/index.ts'
import type { Engine } from '../engine.ts'
import { driftMs } from '../lease/hold.ts'
import type { Soon } from '../store.ts'

/** A grant, from an answer or a push of the store. */
export interface Grant {
  readonly token: bigint | null
  readonly spare: number
  readonly contended: boolean
  /** On our monotonic clock; counted from before the request was sent. */
  readonly validUntilMs: number
  /** How long the store keeps it from the moment of the grant: the ttl, or an offer's short life. */
  readonly lifeMs: number
}

export type AttemptAnswers = Soon<readonly ClaimAnswer[]> | LockError

/** One attempt at a store that answers at once; an error is returned, not thrown. */
export function ask(engine: Engine, claim: Claim): AttemptAnswers {
  try {
    return engine.client.attempt([claim])
  } catch (error) {
    return error as LockError
  }
}

/** The grant of a store that answers in the same turn; null if it is not granted or not known yet. */
export function grantedAtOnce(
  answers: AttemptAnswers,
  claim: Claim,
  sentAtMs: number,
  nowMs: number,
): Grant | null {
  if (answers instanceof Promise || answers instanceof LockError) return null
  const [answer] = answers
  return answer?.kind === 'granted' ? grantOf(answer, claim, sentAtMs, nowMs) : null
}

/** The grant of an answer, valid from before the request was sent; null if it expired before it arrived. */
export function grantOf(answer: Granted, claim: Claim, sentAtMs: number, nowMs: number): Grant | null {
  const { ttlMs } = claim
  const validUntilMs = sentAtMs + ttlMs - driftMs(ttlMs)
  if (nowMs >= validUntilMs) return null
  return {
    token: answer.token,
    spare: answer.spare,
    contended: answer.contended,
    validUntilMs,
    lifeMs: ttlMs,
  }
}

/** The error of a claim that can never be granted. */
export function refusal(key: string, { reason, message }: Refused): LockError {
  if (reason === 'absent') return new LeaseLostError(key, message)
  const why = `${JSON.stringify(key)}: ${message}`
  return reason === 'format' ? new UnsupportedError(why) : new ConflictError(why)
}

/** The fencing tokens directly above a granted one, for the holders that use the grant after the first one. */
export class SpareTokens {
  private readonly granted: bigint | null
  private readonly spare: number
  private used = 0

  constructor({ token, spare }: Grant) {
    this.granted = token
    this.spare = spare
  }

  /** The tokens of the highest grant, so that with several holds of one key the tokens still rise. */
  static newer(known: SpareTokens | null, grant: Grant): SpareTokens {
    const { token } = grant
    const stale = known !== null && token !== null && known.granted !== null && token < known.granted
    return stale ? known : new SpareTokens(grant)
  }

  get left(): boolean {
    return this.used < this.spare
  }

  take(): bigint | null {
    this.used++
    return this.granted === null ? null : this.granted + BigInt(this.used)
  }
}
