import {
  type Batch,
  type Claim,
  type ClaimAnswer,
  type Clock,
  claimBatch,
  type Event,
  type KeyLetter,
  type ReleaseAnswer,
  type RenewAnswer,
  releaseOf,
  renewOf,
  type Shelf,
  stepBatch,
} from '../../../model/index.ts'
import { Crowd } from '../crowd.ts'
import { RowShelf } from '../shelf.ts'
import type { Desk } from './desk.ts'
import { withoutDead } from './graveyard.ts'
import { pidNamespace } from './inbox.ts'
import type { KeyTable } from './keys.ts'
import { RULES } from './rules.ts'

/** A key that others write all the time is worked on in a transaction, which nobody can come in between. */
const TRIES_ALONE = 2

type Step = Pick<Claim, 'key' | 'id' | 'ttlMs'>

/** What the model says about some claims, and the one statement that says the same about a simple one. */
interface Plan<C extends Step, A> {
  model(shelf: Shelf, claims: readonly C[], clock: Clock): Batch<A>
  /** Null when the model has to look. */
  quick(claim: C, clock: Clock): A | null
}

/** Takes claims through the model and writes what it says, in the cheapest way that comes to the same. */
export class Steps {
  private readonly desk: Desk
  private readonly keys: KeyTable
  private readonly crowd = new Crowd()
  private readonly namespace = pidNamespace()

  constructor(desk: Desk, keys: KeyTable) {
    this.desk = desk
    this.keys = keys
  }

  claim(claims: readonly Claim[], inbox: string | null): Batch<ClaimAnswer> {
    const batch = this.run<Claim, ClaimAnswer>(claims, {
      model: (shelf, some, clock) => claimBatch(shelf, some, inbox, clock, RULES),
      quick: (claim, clock) => (this.crowd.has(claim.key) ? null : this.keys.tryClaim(claim, inbox, clock)),
    })
    for (let place = 0; place < claims.length; place++)
      this.crowd.note((claims[place] as Claim).key, batch.answers[place] as ClaimAnswer)
    return batch
  }

  renew(claims: readonly Step[]): Batch<RenewAnswer> {
    return this.run<Step, RenewAnswer>(claims, {
      model: (shelf, some, clock) => stepBatch(shelf, some, renewOf, clock, RULES),
      quick: () => null,
    })
  }

  release(claims: readonly Step[]): Batch<ReleaseAnswer> {
    return this.run<Step, ReleaseAnswer>(claims, {
      model: (shelf, some, clock) => stepBatch(shelf, some, releaseOf, clock, RULES),
      quick: ({ key, id }, clock) =>
        this.crowd.has(key) ? null : this.keys.tryRelease(key, id, clock.nowMs),
    })
  }

  /** An operator's event. */
  event<E extends Event>(key: string, event: E): ReturnType<typeof stepBatch<E>> {
    return this.run([{ key, id: '', ttlMs: 0 }], {
      model: (shelf, some, clock) => stepBatch(shelf, some, () => event, clock, RULES),
      quick: () => null,
    })
  }

  private run<C extends Step, A>(claims: readonly C[], plan: Plan<C, A>): Batch<A> {
    const only = claims.length === 1 ? (claims[0] as C) : null
    if (only === null) return this.together(claims, plan)
    const answer = plan.quick(only, this.desk.now())
    if (answer !== null) return { answers: [answer], letters: [] }
    return this.alone(only, plan) ?? this.together(claims, plan)
  }

  /**
   * One key needs no transaction: nobody is kept from writing while the model thinks, and what it says is written by one
   * statement, if the row is still the same. Null when it is not, or when there is none.
   */
  private alone<C extends Step, A>(claim: C, plan: Plan<C, A>): Batch<A> | null {
    const { key } = claim
    for (let tries = 0; tries < TRIES_ALONE; tries++) {
      const row = this.keys.find(key)
      if (row === undefined) return null
      // Not earlier: the row must not be younger than the time it is looked at.
      const clock = this.desk.now()
      const shelf = new RowShelf(() => withoutDead(this.keys.stateOf(row, clock.nowMs), this.namespace))
      const batch = plan.model(shelf, [claim], clock)
      const changed = shelf.changed.get(key)
      if (changed === undefined || this.keys.trySwap(row, changed, clock.nowMs)) return batch
    }
    return null
  }

  private together<C extends Step, A>(claims: readonly C[], plan: Plan<C, A>): Batch<A> {
    return this.desk.transaction((clock) => {
      const shelf = new RowShelf((key) => withoutDead(this.keys.load(key, clock.nowMs), this.namespace))
      const batch = areApart(claims) ? oneByOne(claims, shelf, clock, plan) : plan.model(shelf, claims, clock)
      for (const [key, state] of shelf.changed) this.keys.save(key, state, clock.nowMs)
      return batch
    })
  }
}

/** Whether no answer depends on another one. */
function areApart(claims: readonly (Step & { readonly group?: string | null })[]): boolean {
  const keys = new Set<string>()
  for (const { key, group = null } of claims) {
    if (group !== null || keys.has(key)) return false
    keys.add(key)
  }
  return claims.length > 1
}

function oneByOne<C extends Step, A>(
  claims: readonly C[],
  shelf: Shelf,
  clock: Clock,
  plan: Plan<C, A>,
): Batch<A> {
  const answers: A[] = []
  const letters: KeyLetter[] = []
  for (const claim of claims) {
    const answer = plan.quick(claim, clock)
    if (answer !== null) {
      answers.push(answer)
      continue
    }
    const batch = plan.model(shelf, [claim], clock)
    answers.push(...batch.answers)
    letters.push(...batch.letters)
  }
  return { answers, letters }
}
