import assert from 'node:assert/strict'
import type { Blocked, Claim, Mode } from '../../../src/model/index.ts'
import type { Ledger } from '../ledger.ts'
import { atEveryStep, type Topic } from '../property.ts'

/** Written from the definition of the modes, not from the model's code. */
function together(one: Mode, other: Mode): boolean {
  return one.kind === 'shared' && other.kind === 'shared'
}

export function permitsUsed(ledger: Ledger): number {
  let used = 0
  for (const hold of ledger.holds) {
    // Claims of one owner share what its hold was given, so the heaviest of them counts.
    const weights = hold.believers.map(({ claim }) => (claim.mode.kind === 'permits' ? claim.mode.weight : 0))
    used += Math.max(hold.mode.kind === 'permits' ? hold.mode.weight : 0, ...weights)
  }
  return used
}

/** True if a claim at the head of the queue could hold the key now, as far as the claimants know. */
export function couldEnter(ledger: Ledger, claim: Claim, nowMs: number): boolean {
  const own = ledger.ownHold(claim)
  if (own !== undefined) return gives(own.mode, claim.mode)
  if (ledger.closedUntilMs > nowMs) return false
  if (claim.mode.kind === 'permits') return permitsUsed(ledger) + claim.mode.weight <= claim.mode.limit
  return ledger.holds.every((hold) => together(hold.mode, claim.mode))
}

export function gives(held: Mode, wanted: Mode): boolean {
  if (held.kind === 'exclusive') return true
  if (held.kind === 'shared') return wanted.kind === 'shared'
  return wanted.kind === 'permits' && wanted.weight <= held.weight
}

export const exclusion: Topic = {
  'two claimants of different holds never believe in an exclusive lock together': atEveryStep(
    ({ learnt }) => {
      for (const hold of learnt.holds) {
        for (const other of learnt.holds) {
          if (hold === other) continue
          for (const { claim } of hold.believers) {
            if (claim.mode.kind === 'permits') continue
            assert(
              together(claim.mode, other.mode),
              `${claim.id} holds beside ${other.believers[0]?.claim.id}`,
            )
          }
        }
      }
    },
  ),

  'believers share a hold only when they have the same owner, and it gives what each of them asked for':
    atEveryStep(({ learnt }) => {
      for (const hold of learnt.holds) {
        for (const { claim } of hold.believers) {
          assert(hold.believers.length === 1 || claim.owner === hold.owner)
          assert(gives(hold.mode, claim.mode), `${claim.id} was given less than it asked for`)
        }
        assert(hold.owner !== null || hold.believers.length === 1)
      }
    }),

  'a claim is blocked for a reason: somebody holds, somebody waits or the key is closed': atEveryStep(
    ({ event, answer, known, clock }) => {
      if (event.kind !== 'claim' || answer?.kind !== 'blocked') return
      const others = known.queue.filter((waiter) => waiter.claim.id !== event.claim.id)
      assert(
        others.length > 0 || !couldEnter(known, event.claim, clock.nowMs),
        'blocked although it could enter',
      )
    },
  ),

  'a blocked claim hears who stands in the way and for how long': atEveryStep(
    ({ event, answer, learnt, clock }) => {
      if (event.kind !== 'claim' || answer?.kind !== 'blocked') return
      const { holder, storeTimeMs } = answer as Blocked
      assert.equal(storeTimeMs, clock.nowMs)
      if (holder === null) assert.equal(learnt.holds.length, 0)
      else {
        const labels = learnt.holds.flatMap((hold) => hold.believers.map((one) => one.claim.label))
        assert(labels.includes(holder.label), `${holder.label} does not hold`)
        assert(holder.heldMs !== null && holder.heldMs >= 0)
      }
    },
  ),
}
