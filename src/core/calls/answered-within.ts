import { StoreError } from '../../errors.ts'
import type { Runtime } from '../runtime.ts'

export class LateError extends StoreError {}

/** The answer, or a rejection when it takes longer: a frozen server hangs nobody. */
export function answeredWithin<T>(answer: Promise<T>, ms: number, runtime: Runtime): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new LateError(`no answer within ${ms} ms`))
    const timer = runtime.setTimer(late, ms, false)
    answer.then(resolve, reject).finally(() => timer.clear())
  })
}
