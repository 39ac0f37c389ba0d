import type {
  Admin,
  ClaimReply,
  ReleaseReply,
  RenewReply,
  Store,
  StoreNotice,
  Traits,
} from '../../src/core/store.ts'
import type { Claim, EvictAnswer, KeyView } from '../../src/model/index.ts'
import type { Host } from './host.ts'
import type { Network } from './network.ts'
import type { Call, Parcel } from './plan.ts'
import type { ProtocolChecker } from './protocol-checker.ts'
import type { Request, Server } from './server.ts'
import type { World } from './world.ts'

const TRAITS: Traits = {
  name: 'simulated',
  modes: ['exclusive', 'shared', 'permits'],
  order: 'fifo',
  fencing: 'strict',
  ttlStepMs: 1,
  adoption: true,
  owners: true,
  lockDelay: true,
  groups: true,
  records: false,
  wakeUp: 'push',
  immediate: false,
  scope: 'the clients of one simulated world',
  failover: 'as the plan says',
}

/** A client's side of the store: every call is a request over the network, every answer a reply. */
export class RemoteStore implements Store {
  readonly traits = TRAITS
  readonly records = null
  readonly admin: Admin
  readonly inbox: string
  private readonly link: string
  private readonly host: Host
  private readonly world: World
  private readonly network: Network
  private readonly server: Server
  private readonly checker: ProtocolChecker
  private readonly callTimeoutMs: number
  private readonly listeners = new Set<(notice: StoreNotice) => void>()
  private open = true

  constructor(
    link: string,
    inbox: string,
    host: Host,
    world: World,
    network: Network,
    server: Server,
    checker: ProtocolChecker,
    callTimeoutMs: number,
  ) {
    this.link = link
    this.inbox = inbox
    this.host = host
    this.world = world
    this.network = network
    this.server = server
    this.checker = checker
    this.callTimeoutMs = callTimeoutMs
    const ask = <A>(request: Request): Promise<A> => this.call('admin', request)
    this.admin = {
      read: (key) => ask<KeyView>({ call: 'read', key }),
      async *list(prefix) {
        yield* await ask<KeyView[]>({ call: 'list', prefix })
      },
      evict: (key, token, askOnly) => ask<EvictAnswer>({ call: 'evict', key, token, ask: askOnly }),
    }
  }

  attempt(claims: readonly Claim[]): Promise<readonly ClaimReply[]> {
    return this.speak('attempt', claims)
  }

  renew(claims: readonly Claim[]): Promise<readonly RenewReply[]> {
    return this.speak('renew', claims)
  }

  release(claims: readonly Claim[]): Promise<readonly ReleaseReply[]> {
    return this.speak('release', claims)
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** A letter from the server, which still has to cross the network. */
  receive(notice: StoreNotice): void {
    const hear = (): void => {
      this.checker.told(notice)
      for (const listener of this.listeners) listener(notice)
    }
    this.network.send(this.link, 'down', 'notice', () => this.host.enter(hear), false)
  }

  close(): void {
    this.open = false
  }

  get isClosed(): boolean {
    return !this.open && this.listeners.size === 0
  }

  private async speak<A extends { readonly kind: string }>(
    call: Call,
    claims: readonly Claim[],
  ): Promise<readonly A[]> {
    this.checker.sent(call, claims)
    if (this.world.trace !== null)
      this.world.note(
        this.host.name,
        `sends ${call} ${claims.map(({ key, id }) => `${key} ${id}`).join(', ')}`,
      )
    const { pauses, clock } = this.host
    const givenUpAtMs = clock.nowMs() + this.callTimeoutMs
    const answers = await this.call<readonly A[]>(call, { call, claims, inbox: this.inbox })
    if (this.world.trace !== null)
      this.world.note(this.host.name, `hears of ${call} ${describe(claims, answers)}`)
    // The core gives a call up at its own deadline; after a pause the answer and that deadline may come in any order.
    const inTime = clock.nowMs() < givenUpAtMs || this.host.pauses > pauses
    const known = claims.filter((_, place) => answers[place]?.kind !== 'unknown')
    if (call !== 'release' && inTime) this.checker.answered(known)
    return answers
  }

  private call<A>(parcel: Parcel, request: Request): Promise<A> {
    if (!this.open) return Promise.reject(new Error('the connection is closed'))
    return new Promise((resolve, reject) => {
      const settle = (answer: unknown): void => {
        if (answer instanceof Error) reject(answer)
        else resolve(answer as A)
      }
      const respond = (answer: unknown): void => {
        this.network.send(this.link, 'down', 'reply', () => this.host.enter(() => settle(answer)), false)
      }
      const reset = () => this.host.enter(() => reject(new Error('connection reset')))
      this.network.send(this.link, 'up', parcel, () => this.server.receive(request, respond), true, reset)
    })
  }
}

function describe(claims: readonly Claim[], answers: readonly unknown[]): string {
  const kindOf = (index: number) => (answers[index] as { kind: string } | undefined)?.kind
  return claims.map(({ key, id }, index) => `${key} ${id}: ${kindOf(index)}`).join(', ')
}
