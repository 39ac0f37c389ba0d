import type { ClaimReply } from '../../core/store.ts'
import type { Claim } from '../../model/index.ts'

type Attempt = (claims: readonly Claim[]) => Promise<readonly ClaimReply[]>

/** Attempts the claims without a group in one batch, and each group in its own. Answers in the order of `claims`. */
export async function attemptBatches(
  claims: readonly Claim[],
  attempt: Attempt,
  attemptGroup: Attempt,
): Promise<readonly ClaimReply[]> {
  const batches = new Map<string | null, number[]>()
  for (const [index, { group }] of claims.entries()) {
    const batch = batches.get(group)
    if (batch === undefined) batches.set(group, [index])
    else batch.push(index)
  }
  const answers = new Array<ClaimReply>(claims.length)
  const attempts = [...batches].map(async ([group, indexes]) => {
    const some = indexes.map((index) => claims[index] as Claim)
    const replies = await (group === null ? attempt(some) : attemptGroup(some))
    for (const [at, index] of indexes.entries()) answers[index] = replies[at] as ClaimReply
  })
  await Promise.all(attempts)
  return answers
}
