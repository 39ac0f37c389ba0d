import type { UnseenFact } from '../../core/facts.ts'
import type { Traits } from '../../core/store.ts'
import type { HolderView, KeyView, WaiterView } from '../../model/index.ts'
import { isVisible } from './processes.ts'

/** The limits of the doctor's knowledge of claims, counted key by key. */
export class UnseenClaims {
  private readonly traits: Traits
  private readonly untold = new Count()
  private readonly remote = new Count()

  constructor(traits: Traits) {
    this.traits = traits
  }

  add(view: KeyView): void {
    // Without records a process cannot publish, so only a given name tells.
    const { records } = this.traits
    this.untold.add(view, ({ actor }) => actor === null || (!records && actor.startsWith('@')))
    this.remote.add(view, ({ label }) => !isVisible(label))
  }

  facts(): UnseenFact[] {
    const { name, records } = this.traits
    const untold = records
      ? 'their programs set neither `onDeadlock` nor `actor`'
      : `the ${name} store has no records to publish them in, so only the option \`actor\` tells`
    const remote = 'they are on other hosts, have labels of their own, or this system does not tell'
    return [
      ...this.untold.fact((claims) => `deadlocks among ${claims}`, untold),
      ...this.remote.fact((claims) => `whether the processes of ${claims} run or are stopped`, remote),
    ]
  }
}

class Count {
  private holders = 0
  private waiters = 0

  add({ holders, queue }: KeyView, isMeant: (claim: HolderView | WaiterView) => boolean): void {
    this.holders += holders.filter(isMeant).length
    this.waiters += queue.filter(isMeant).length
  }

  fact(what: (claims: string) => string, why: string): UnseenFact[] {
    const { holders, waiters } = this
    if (holders + waiters === 0) return []
    const claims = `${holders} ${holders === 1 ? 'holder' : 'holders'} and ${waiters} ${waiters === 1 ? 'waiter' : 'waiters'}`
    return [{ kind: 'unseen', what: what(claims), why }]
  }
}
