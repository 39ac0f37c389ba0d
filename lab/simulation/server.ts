import type { Unknown } from '../../src/core/store.ts'
import { unknownAnswer } from '../../src/core/store.ts'
import {
  type Answer,
  type Claim,
  type Clock,
  claimBatch,
  EMPTY,
  type Event,
  isForgettable,
  isInUse,
  type KeyNotification,
  type KeyState,
  type KeyView,
  nextChangeMs,
  type Rules,
  releaseOf,
  renewOf,
  step,
  stepBatch,
  viewOf,
} from '../../src/model/index.ts'
import { SkewedClock } from './clock.ts'
import type { Scheduled } from './heap.ts'
import { WALL_START_MS } from './host.ts'
import type { Ledger } from './ledger.ts'
import type { Call, ServerPlan } from './plan.ts'
import type { World } from './world.ts'

export type Request =
  | {
      readonly call: Call
      readonly claims: readonly Claim[]
      readonly inbox: string
    }
  | { readonly call: 'read'; readonly key: string }
  | { readonly call: 'list'; readonly prefix: string }
  | { readonly call: 'evict'; readonly key: string; readonly token: bigint | null; readonly ask: boolean }

/** One member of the next such call with several is not answered; with `done` it took effect all the same. */
interface Doubt {
  readonly call: Call
  readonly member: number
  readonly done: boolean
}

const NO_ANSWER = unknownAnswer(new Error('no answer for this member'))

/** The store's server: the model over a map, one request after the other, with its own clock and its own accidents. */
export class Server {
  private readonly world: World
  private readonly rules: Rules
  private readonly ticks: boolean
  private readonly ledger: Ledger
  private readonly deliver: (notification: KeyNotification) => void
  private readonly clock: SkewedClock
  private readonly states = new Map<string, KeyState>()
  private readonly alarms = new Map<string, Scheduled>()
  private wallJumpUs = 0
  private downUntilUs = 0
  private frozenUntilUs = 0
  private fullUntilUs = 0
  private readonly doubts: Doubt[] = []
  private doing: Request['call'] | 'tick' = 'tick'

  constructor(
    world: World,
    plan: ServerPlan,
    ledger: Ledger,
    deliver: (notification: KeyNotification) => void,
  ) {
    this.world = world
    this.rules = { offerMs: plan.offerMs, keepSeqMs: plan.keepSeqMs, mostOffers: Number.POSITIVE_INFINITY }
    this.ticks = plan.ticks
    this.ledger = ledger
    this.deliver = deliver
    this.clock = new SkewedClock(world, plan.skewPpm, 5_000_000)
  }

  /** `respond` gets the answer, or an error when there is no server to answer, or it refuses. */
  receive(request: Request, respond: (answer: unknown) => void): void {
    const { nowUs } = this.world
    if (nowUs < this.downUntilUs) respond(new Error('connection refused'))
    else if (nowUs < this.frozenUntilUs) {
      this.world.schedule(this.frozenUntilUs, () => this.receive(request, respond), true)
    } else if (nowUs < this.fullUntilUs && request.call === 'attempt') respond(new Error('out of memory'))
    else respond(this.execute(request))
  }

  crash(untilUs: number, loss: boolean): void {
    this.downUntilUs = Math.max(this.downUntilUs, untilUs)
    if (loss) this.states.clear()
    this.world.schedule(this.downUntilUs, () => this.tickAll(), true)
  }

  freeze(untilUs: number): void {
    this.frozenUntilUs = Math.max(this.frozenUntilUs, untilUs)
  }

  full(untilUs: number): void {
    this.fullUntilUs = Math.max(this.fullUntilUs, untilUs)
  }

  doubt(doubt: Doubt): void {
    this.doubts.push(doubt)
  }

  jump(byMs: number): void {
    this.wallJumpUs += byMs * 1000
  }

  heal(): void {
    this.downUntilUs = 0
    this.frozenUntilUs = 0
    this.fullUntilUs = 0
    this.doubts.length = 0
    this.tickAll()
  }

  /** What is held or waited for right now. */
  inUse(): KeyView[] {
    this.doing = 'tick'
    return [...this.states.keys()].map((key) => this.view(key)).filter(isInUse)
  }

  /** For the model's batches. */
  get(key: string): KeyState {
    const state = this.states.get(key)
    return state === undefined || isForgettable(state, this.clock.nowMs()) ? EMPTY : state
  }

  put(key: string, state: KeyState): void {
    this.ledger.changed(key, this.doing, this.get(key), state)
    this.states.set(key, state)
    if (this.ticks) this.arm(key, state)
  }

  private execute(request: Request): unknown {
    this.doing = request.call
    const clock = this.now()
    switch (request.call) {
      case 'attempt':
        return this.each(request, (claims) =>
          this.post(claimBatch(this, claims, request.inbox, clock, this.rules)),
        )
      case 'renew':
        return this.each(request, (claims) => this.post(stepBatch(this, claims, renewOf, clock, this.rules)))
      case 'release':
        return this.each(request, (claims) =>
          this.post(stepBatch(this, claims, releaseOf, clock, this.rules)),
        )
      case 'read':
        return this.view(request.key)
      case 'list':
        return this.inUse().filter(({ key }) => key.startsWith(request.prefix))
      case 'evict':
        return this.step(request.key, { kind: request.ask ? 'revoke' : 'evict', token: request.token }, clock)
    }
  }

  /** A member in doubt, and its group with it, is left out or loses its answer; the others notice nothing. */
  private each<A>(
    { call, claims }: { readonly call: Call; readonly claims: readonly Claim[] },
    play: (claims: readonly Claim[]) => readonly A[],
  ): readonly (A | Unknown)[] {
    const place = claims.length > 1 ? this.doubts.findIndex((doubt) => doubt.call === call) : -1
    if (place < 0) return play(claims)
    const [{ member, done }] = this.doubts.splice(place, 1) as [Doubt]
    const chosen = claims[member % claims.length] as Claim
    const isLost = ({ id, group }: Claim) => id === chosen.id || (group !== null && group === chosen.group)
    const answers = play(done ? claims : claims.filter((claim) => !isLost(claim)))[Symbol.iterator]()
    return claims.map((claim) => {
      const answer = done || !isLost(claim) ? (answers.next().value as A) : null
      return answer === null || isLost(claim) ? NO_ANSWER : answer
    })
  }

  private step<E extends Event>(key: string, event: E, clock: Clock): Answer<E> {
    const { state, answer, notifications } = step(this.get(key), event, clock, this.rules)
    this.put(key, state)
    for (const notification of notifications) this.deliver({ ...notification, key })
    return answer
  }

  private post<A>(batch: {
    readonly answers: readonly A[]
    readonly notifications: readonly KeyNotification[]
  }): readonly A[] {
    for (const notification of batch.notifications) this.deliver(notification)
    return batch.answers
  }

  private now(): Clock {
    const localUs = this.clock.nowUs()
    return { nowMs: Math.floor(localUs / 1000), stampUs: WALL_START_MS * 1000 + localUs + this.wallJumpUs }
  }

  private view(key: string): KeyView {
    const clock = this.now()
    return viewOf(key, step(this.get(key), { kind: 'tick' }, clock, this.rules).state, clock.nowMs)
  }

  private tickAll(): void {
    if (this.ticks) for (const key of [...this.states.keys()]) this.tick(key)
  }

  private tick(key: string): void {
    const awakeUs = Math.max(this.downUntilUs, this.frozenUntilUs)
    if (this.world.nowUs < awakeUs) {
      this.world.schedule(awakeUs, () => this.tick(key), true)
      return
    }
    this.doing = 'tick'
    this.step(key, { kind: 'tick' }, this.now())
  }

  private arm(key: string, state: KeyState): void {
    const dueMs = nextChangeMs(state, this.clock.nowMs())
    const dueUs = dueMs === null ? Number.POSITIVE_INFINITY : this.clock.trueUsOf(dueMs)
    const armed = this.alarms.get(key)
    if (armed !== undefined) {
      if (armed.atUs === dueUs) return
      armed.cancelled = true
    }
    if (dueMs === null) this.alarms.delete(key)
    else
      this.alarms.set(
        key,
        this.world.schedule(dueUs, () => this.tick(key), true),
      )
  }
}
