import type { Unknown } from '../../../core/store.ts'
import { someKnown, unknownAnswer } from '../../../core/store.ts'
import type { Claim } from '../../../model/index.ts'
import type { ClusterRoutes } from '../clients/client.ts'
import { lockName } from '../names.ts'
import { batchesOf, CLAIMS_PER_CALL } from '../rules.ts'
import { isTorn } from './node.ts'

/** Sends claims whose keys are in one slot; answers each. */
type Send<A> = (claims: readonly Claim[]) => Promise<readonly A[]>

/**
 * A script has all its keys in one slot, so the claims of one call travel as one call for each slot, all at once, and one that fails
 * leaves the others their answers. A group in several slots cannot be granted in one step: it is refused, and nothing of it is sent.
 */
export async function callBySlot<A extends { readonly kind: string }>(
  routes: ClusterRoutes,
  claims: readonly Claim[],
  send: Send<A>,
  refuse: (claim: Claim) => A,
): Promise<readonly (A | Unknown)[]> {
  const answers: (A | Unknown)[] = []
  const calls = partsOf(routes, claims).map(async ({ slot, indexes }) => {
    const part = indexes.map((index) => claims[index] as Claim)
    const known = slot === null ? part.map(refuse) : await callSlot(part, send, refuse)
    for (const [at, index] of indexes.entries()) answers[index] = known[at] as A | Unknown
  })
  await Promise.all(calls)
  return someKnown(answers)
}

interface Part {
  /** Null for a group that is in more than one. */
  readonly slot: number | null
  readonly indexes: number[]
}

function partsOf(routes: ClusterRoutes, claims: readonly Claim[]): readonly Part[] {
  const slots = claims.map(({ key }) => routes.slotOf(lockName(key)))
  const torn = new Set<string>()
  for (const [index, { group }] of claims.entries())
    if (group !== null && claims[index + 1]?.group === group && slots[index + 1] !== slots[index])
      torn.add(group)
  const parts = new Map<number | null, Part>()
  for (const [index, { group }] of claims.entries()) {
    const slot = group !== null && torn.has(group) ? null : (slots[index] as number)
    const part = parts.get(slot)
    if (part === undefined) parts.set(slot, { slot, indexes: [index] })
    else part.indexes.push(index)
  }
  return [...parts.values()]
}

async function callSlot<A>(
  claims: readonly Claim[],
  send: Send<A>,
  refuse: (claim: Claim) => A,
): Promise<readonly (A | Unknown)[]> {
  const calls = batchesOf(claims, CLAIMS_PER_CALL).map(async (batch) => {
    try {
      return await send(batch)
    } catch (error) {
      if (isTorn(error)) return callEach(batch, send, refuse)
      return batch.map(() => unknownAnswer(error as Error))
    }
  })
  return (await Promise.all(calls)).flat()
}

/** While a slot is on the move, each key is somewhere, but several keys may not be on one server. */
function callEach<A>(
  claims: readonly Claim[],
  send: Send<A>,
  refuse: (claim: Claim) => A,
): Promise<readonly (A | Unknown)[]> {
  const calls = claims.map(async (claim) => {
    if (claim.group !== null) return refuse(claim)
    return send([claim]).then(([answer]) => answer as A, unknownAnswer)
  })
  return Promise.all(calls)
}
