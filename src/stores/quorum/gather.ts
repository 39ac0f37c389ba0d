import type { Runtime } from '../../core/runtime.ts'

/** How long the slower nodes are waited for once enough others have answered. */
const GRACE_MS = 200

/** What became of a call to one node: its answer, or why there is none. */
export type CallResult<A> = { readonly answer: A } | { readonly error: unknown }

/**
 * Waits for calls to several nodes: until all have ended, a moment longer than `needed` of them took to answer, or `limitMs`. A frozen
 * minority costs that moment. The outcomes come in the order of the calls.
 */
export function gatherAnswers<A>(
  calls: readonly Promise<A>[],
  needed: number,
  limitMs: number,
  runtime: Runtime,
): Promise<CallResult<A>[]> {
  const outcomes: (CallResult<A> | undefined)[] = calls.map(() => undefined)
  return new Promise((resolve) => {
    let why = `no answer within ${limitMs} ms`
    const end = (): void => {
      timer.clear()
      const late = { error: new Error(why) }
      resolve(outcomes.map((outcome) => outcome ?? late))
    }
    let timer = runtime.setTimer(end, limitMs, true)
    let open = calls.length
    let answers = 0
    const note = (place: number, outcome: CallResult<A>): void => {
      outcomes[place] = outcome
      if (--open === 0) end()
      else if ('answer' in outcome && ++answers === needed) {
        const graceMs = Math.min(GRACE_MS, limitMs)
        why = `no answer ${graceMs} ms after the others`
        timer.clear()
        timer = runtime.setTimer(end, graceMs, true)
      }
    }
    for (const [place, call] of calls.entries())
      call.then(
        (answer) => note(place, { answer }),
        (error) => note(place, { error }),
      )
  })
}
