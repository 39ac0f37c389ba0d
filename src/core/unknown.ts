import type { Unknown } from './store.ts'

/** The answer to each claim of a part of a call that failed. */
export function unknown(error: Error): Unknown {
  return { kind: 'unknown', error }
}

/** A call that brought no claim an answer has failed as a whole: it counts as one failure, and not as one for each claim. */
export function someKnown<A extends { readonly kind: string }>(
  answers: readonly (A | Unknown)[],
): readonly (A | Unknown)[] {
  const [first] = answers
  if (isUnknown(first) && answers.every(isUnknown)) throw first.error
  return answers
}

function isUnknown(answer: { readonly kind: string } | undefined): answer is Unknown {
  return answer?.kind === 'unknown'
}
