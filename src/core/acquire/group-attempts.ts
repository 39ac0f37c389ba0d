import { ClosedError } from '../../errors.ts'
import type { Claim, ClaimAnswer } from '../../model/index.ts'
import type { Engine } from '../engine.ts'
import type { LockRequest } from '../options.ts'
import type { Soon } from '../store.ts'
import { Busy, detailsOf, noAnswerError } from './waiter.ts'

/** Attempts at several keys in one step; `close` releases those under way. */
export class GroupAttempts {
  private readonly engine: Engine
  private readonly open = new Set<readonly Claim[]>()

  constructor(engine: Engine) {
    this.engine = engine
  }

  /** One attempt at several claims together. The signal and the end of the wait end the wait for its answer. */
  async attempt(claims: readonly Claim[], request: LockRequest): Promise<readonly ClaimAnswer[]> {
    request.signal?.throwIfAborted()
    this.open.add(claims)
    try {
      const answers = await this.inTime(this.engine.client.attempt(claims), request, () =>
        this.abandon(claims),
      )
      if (this.engine.closing) throw new ClosedError()
      return answers
    } finally {
      this.open.delete(claims)
    }
  }

  close(): void {
    for (const claims of this.open) this.abandon(claims)
  }

  /** Settles as the call does, or rejects at the end of the wait or by the signal; a later answer calls `late`. */
  private inTime<T>(call: Soon<T>, request: LockRequest, late: () => void): Soon<T> {
    if (!(call instanceof Promise)) return call
    const { runtime, settings } = this.engine
    const { signal, waitMs } = request
    return new Promise<T>((resolve, reject) => {
      let isOver = false
      const stop = (why: unknown) => {
        isOver = true
        reject(why)
      }
      const cancel = () => stop(signal?.reason)
      const end = () => stop(noAnswerError(waitMs) ?? new Busy(detailsOf(request, waitMs, null)))
      const isBounded = waitMs > 0 && waitMs < settings.callTimeoutMs
      const timer = isBounded ? runtime.setTimer(end, waitMs, false) : null
      signal?.addEventListener('abort', cancel, { once: true })
      const answered = (answers: T) => {
        if (isOver) late()
        resolve(answers)
      }
      call.then(answered, reject).finally(() => {
        timer?.clear()
        signal?.removeEventListener('abort', cancel)
      })
    })
  }

  private abandon(claims: readonly Claim[]): void {
    for (const claim of claims) this.engine.cleanup.release(claim)
  }
}
