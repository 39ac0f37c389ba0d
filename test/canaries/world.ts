import type { Runtime, Store, StoreNotice, Traits } from 'holdfast'
import type {
  Claim,
  ClaimAnswer,
  Clock,
  Event,
  KeyState,
  KeyView,
  Notification,
  RecordState,
} from '../../src/model/index.ts'
import * as model from '../../src/model/index.ts'

type Listener = (notice: StoreNotice) => void

/** The model over a map, in parts that a canary can replace one by one. As it stands, it is healthy. */
export class World {
  protected readonly runtime: Runtime
  protected readonly states = new Map<string, KeyState>()
  protected readonly values = new Map<string, RecordState>()
  protected readonly listeners = new Map<string, Set<Listener>>()
  private removedVersion = 0

  constructor(runtime: Runtime) {
    this.runtime = runtime
  }

  protected traits: Traits = {
    name: 'canary',
    modes: ['exclusive', 'shared', 'permits'],
    order: 'fifo',
    fencing: 'strict',
    ttlStepMs: 1,
    adoption: true,
    owners: true,
    lockDelay: true,
    groups: true,
    records: true,
    wakeUp: 'push',
    immediate: false,
    scope: 'one test',
    failover: 'none',
  }

  protected rules: model.Rules = {
    offerMs: 1000,
    keepSeqMs: 86_400_000,
    mostOffers: Number.POSITIVE_INFINITY,
  }

  open(): Store {
    const inbox = this.runtime.newId()
    const send = (key: string, event: Event) => this.apply(this.keyOf(key), event)
    return {
      traits: this.traits,
      attempt: async (claims) => this.attempt(claims, inbox),
      renew: async (claims) =>
        claims.map(({ key, id, ttlMs }) => send(key, { kind: 'renew', id, ttlMs }) as model.RenewAnswer),
      release: async (claims) =>
        claims.map(({ key, id }) => send(key, { kind: 'release', id }) as model.ReleaseAnswer),
      notices: (listener) => {
        const listeners = this.listeners.get(inbox) ?? new Set()
        this.listeners.set(inbox, listeners.add(listener))
        return () => listeners.delete(listener)
      },
      admin: {
        read: async (key) => this.view(key),
        list: (prefix) => this.list(prefix),
        evict: async (key, token, ask) => {
          return send(key, { kind: ask ? 'revoke' : 'evict', token }) as model.EvictAnswer
        },
      },
      records: {
        read: async (key) => this.record(key),
        write: async (key, value, ttlMs, condition) => {
          const current = this.record(key)
          if (!this.allows(current, condition)) return { kind: 'refused', current }
          const next = model.writtenRecord(
            current?.version ?? this.removedVersion,
            value,
            ttlMs,
            this.clock(),
          )
          this.values.set(key, next)
          return { kind: 'written', version: next.version }
        },
        remove: async (key, condition) => {
          const current = this.record(key)
          if (current === null || !this.allows(current, condition)) return false
          this.removedVersion = Math.max(this.removedVersion, current.version)
          return this.values.delete(key)
        },
        take: async (key, count) => {
          const { next, answer } = this.taken(this.record(key), count)
          if (next !== null) this.values.set(key, next)
          return answer
        },
      },
      close: () => void this.listeners.delete(inbox),
    }
  }

  protected step<E extends Event>(
    state: KeyState,
    event: E,
    clock: Clock,
  ): model.StepOutcome<model.Answer<E>> {
    return model.step(state, event, clock, this.rules)
  }

  /** Grants a group in drafts first, so that nothing is written or told unless all of it is granted. */
  protected group(claims: readonly Claim[], inbox: string): ClaimAnswer[] {
    const clock = this.clock()
    const drafts = new Map<string, KeyState>()
    const notifications: [string, Notification][] = []
    const answers = claims.map((claim) => {
      const key = this.keyOf(claim.key)
      const outcome = this.step(drafts.get(key) ?? this.stateOf(key), { kind: 'claim', claim, inbox }, clock)
      drafts.set(key, outcome.state)
      for (const notification of outcome.notifications) notifications.push([key, notification])
      return outcome.answer
    })
    if (answers.some((answer) => answer.kind !== 'granted')) {
      return answers.map((answer) => (answer.kind === 'granted' ? this.heldBack() : answer))
    }
    for (const [key, state] of drafts) this.states.set(key, state)
    for (const [key, notification] of notifications) this.deliver(key, notification)
    return answers
  }

  protected claim(claim: Claim, inbox: string): ClaimAnswer {
    return this.apply(this.keyOf(claim.key), { kind: 'claim', claim, inbox }) as ClaimAnswer
  }

  protected deliver(key: string, { inbox, notice }: Notification): void {
    for (const listener of this.listeners.get(inbox ?? '') ?? []) listener({ ...notice, key })
  }

  protected keyOf(key: string): string {
    return key
  }

  protected stateOf(key: string): KeyState {
    return this.states.get(key) ?? model.EMPTY
  }

  protected view(key: string): KeyView {
    const clock = this.clock()
    const { state } = this.step(this.stateOf(this.keyOf(key)), { kind: 'tick' }, clock)
    return model.viewOf(key, state, clock.nowMs)
  }

  protected allows(current: RecordState | null, condition: model.RecordCondition): boolean {
    return model.conditionHolds(current, condition, () => {
      if (condition.kind !== 'held') return false
      const { state } = this.step(this.stateOf(condition.key), { kind: 'tick' }, this.clock())
      return state.holds.some((hold) => hold.members.some((member) => member.id === condition.id))
    })
  }

  protected taken(record: RecordState | null, count: number): ReturnType<typeof model.takeFromRecord> {
    return model.takeFromRecord(record, count, this.clock())
  }

  protected clock(): Clock {
    return { nowMs: this.runtime.nowMs(), stampUs: this.runtime.wallMs() * 1000 }
  }

  private apply<E extends Event>(key: string, event: E): model.Answer<E> {
    const { state, answer, notifications } = this.step(this.stateOf(key), event, this.clock())
    this.states.set(key, state)
    for (const notification of notifications) this.deliver(key, notification)
    return answer
  }

  private attempt(claims: readonly Claim[], inbox: string): ClaimAnswer[] {
    const answers: ClaimAnswer[] = []
    while (answers.length < claims.length) {
      const claim = claims[answers.length] as Claim
      const together = claims.filter((other) => other.group !== null && other.group === claim.group)
      answers.push(...(together.length === 0 ? [this.claim(claim, inbox)] : this.group(together, inbox)))
    }
    return answers
  }

  private async *list(prefix: string): AsyncIterable<KeyView> {
    for (const key of this.states.keys()) {
      if (!key.startsWith(prefix)) continue
      const view = this.view(key)
      if (model.isInUse(view)) yield view
    }
  }

  private record(key: string): RecordState | null {
    return model.alive(this.values.get(key) ?? null, this.runtime.nowMs())
  }

  private heldBack(): ClaimAnswer {
    return {
      kind: 'blocked',
      position: 0,
      retryAfterMs: null,
      storeTimeMs: this.runtime.nowMs(),
      holder: null,
    }
  }
}
