import type { Runtime } from '../../core/runtime.ts'
import { innermostOf, StoreError, whyOf } from '../../errors.ts'

/** How long the slower nodes are waited for once enough others have answered. */
const GRACE_MS = 200

/** The end of a call to one node: its answer, or why there is none. */
export type CallResult<A> = { readonly answer: A } | { readonly error: unknown }

/**
 * Waits for calls to several nodes: until all have ended, a moment longer than `needed` of them took to answer, or `limitMs`. A frozen
 * minority costs that moment. The results come in the order of the calls.
 */
export function gatherAnswers<A>(
  calls: readonly Promise<A>[],
  needed: number,
  limitMs: number,
  runtime: Runtime,
): Promise<CallResult<A>[]> {
  const results: (CallResult<A> | undefined)[] = calls.map(() => undefined)
  return new Promise((resolve) => {
    let why = `no answer within ${limitMs} ms`
    const end = (): void => {
      timer.clear()
      const late = { error: new Error(why) }
      resolve(results.map((result) => result ?? late))
    }
    let timer = runtime.setTimer(end, limitMs, true)
    let open = calls.length
    let answers = 0
    const note = (index: number, result: CallResult<A>): void => {
      results[index] = result
      if (--open === 0) end()
      else if ('answer' in result && ++answers === needed) {
        const graceMs = Math.min(GRACE_MS, limitMs)
        why = `no answer ${graceMs} ms after the others`
        timer.clear()
        timer = runtime.setTimer(end, graceMs, true)
      }
    }
    for (const [index, call] of calls.entries())
      call.then(
        (answer) => note(index, { answer }),
        (error) => note(index, { error }),
      )
  })
}

/** Too few nodes answered: the error names the others, each with its cause. */
export function outageOf(
  heard: number,
  needed: number,
  nodes: number,
  causes: readonly StoreError[],
): StoreError {
  const names = causes.map(({ message }) => message).join('; ')
  const message = `${heard} of ${nodes} nodes answered, ${needed} are needed: ${names}`
  return new StoreError(message, { cause: new AggregateError(causes, message) })
}

export function nodeError(name: string, error: unknown): StoreError {
  const cause = innermostOf(error)
  return new StoreError(`${name}: ${whyOf(cause)}`, { cause })
}
