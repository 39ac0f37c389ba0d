import type { Runtime } from '../../core/runtime.ts'
import type {
  ClaimReply,
  ReleaseReply,
  RenewReply,
  Store,
  StoreNotice,
  Traits,
  Unknown,
} from '../../core/store.ts'
import type { Claim, ReleaseAnswer } from '../../model/index.ts'
import { QuorumAdmin } from './admin.ts'
import { Elections } from './election.ts'
import { Identities } from './identities.ts'
import { Nodes } from './nodes.ts'
import { EVERY_BALLOT, type QuorumNode } from './protocol.ts'
import { Renewals } from './renewals.ts'
import { majorityOf } from './tally.ts'
import { NodeTimes } from './times.ts'
import { WaitingClaims } from './waiting-claims.ts'

const QUORUM_TRAITS: Traits = {
  name: 'quorum',
  modes: ['exclusive', 'shared', 'permits'],
  order: 'race',
  fencing: 'until data loss',
  ttlStepMs: 1,
  adoption: false,
  owners: true,
  lockDelay: true,
  groups: false,
  records: false,
  wakeUp: 'push',
  immediate: true,
  scope: 'every process that reaches a majority of the same independent Redis or Valkey servers',
  failover:
    'a minority of the servers may be stopped, cut off or gone; one that comes back empty before the leases it voted for have ended can let a second holder in, and so can a jump of a server clock; tokens rise all the same, as long as one server of each majority keeps its data or the clocks do not fall behind',
}

/** How long closing waits for calls to the slower nodes. */
const CLOSE_MS = 250

/** A majority of independent nodes decides; a minority may fail. */
export class QuorumStore implements Store {
  readonly traits: Traits = QUORUM_TRAITS
  readonly records = null
  readonly admin: QuorumAdmin
  private readonly nodes: Nodes
  private readonly waiting: WaitingClaims
  private readonly elections: Elections
  private readonly renewals: Renewals
  private readonly identities: Identities
  readonly inbox: string
  private readonly listeners = new Set<(notice: StoreNotice) => void>()
  private listening = false

  constructor(nodes: readonly QuorumNode[], runtime: Runtime, timeoutMs: (ttlMs: number) => number) {
    this.inbox = runtime.newId()
    const times = new NodeTimes(nodes.length, runtime)
    this.nodes = new Nodes(nodes, runtime, timeoutMs, times.note)
    this.waiting = new WaitingClaims(nodes.length, runtime, (notice) => this.tell(notice))
    this.elections = new Elections(this.nodes, runtime, times, this.waiting, this.inbox)
    this.renewals = new Renewals(this.nodes, this.elections, this.waiting, this.inbox)
    this.identities = new Identities(nodes, runtime)
    this.admin = new QuorumAdmin(nodes, runtime)
  }

  /** Settles once the nodes are identified; throws when two of them are the same server. */
  async ready(): Promise<void> {
    this.listen()
    const { beginning } = this.identities
    if (beginning !== null) await beginning
    this.identities.require()
  }

  attempt(claims: readonly Claim[]): Promise<readonly ClaimReply[]> {
    this.listen()
    const ask = (): Promise<readonly ClaimReply[]> => {
      this.identities.require()
      return this.each(claims, (claim) => this.elections.hold(claim))
    }
    const { beginning } = this.identities
    return beginning === null ? ask() : beginning.then(ask)
  }

  renew(claims: readonly Claim[]): Promise<readonly RenewReply[]> {
    return this.each(claims, (claim) => this.renewals.renew(claim))
  }

  release(claims: readonly Claim[]): Promise<readonly ReleaseReply[]> {
    const ask = () => this.each(claims, (claim) => this.releaseOne(claim))
    // A release that overtook its claim, which waits for the nodes, would leave votes that nobody takes back.
    return this.identities.beginning === null ? ask() : this.ready().then(ask, ask)
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    this.listeners.add(listener)
    this.listen()
    return () => this.listeners.delete(listener)
  }

  async close(): Promise<void> {
    this.listeners.clear()
    this.waiting.close()
    this.elections.close()
    this.identities.close()
    await this.nodes.settle(CLOSE_MS)
    this.nodes.stop()
    await Promise.all(this.nodes.connections.map(({ node }) => node.close()))
  }

  /** A claim that fails spoils none of the others. */
  private each<A>(
    claims: readonly Claim[],
    ask: (claim: Claim) => Promise<A>,
  ): Promise<readonly (A | Unknown)[]> {
    const [first] = claims
    return this.nodes.together(() =>
      claims.length === 1 && first !== undefined
        ? ask(first).then((answer) => [answer])
        : Promise.all(claims.map((claim) => ask(claim).catch(unknown))),
    )
  }

  /** Absent only when so many nodes say so that the others are no majority. */
  private async releaseOne(claim: Claim): Promise<ReleaseAnswer> {
    this.waiting.forget(claim.id)
    this.renewals.end(claim.id)
    this.elections.end(claim.id)
    const round = this.nodes.ask({ kind: 'release', claim, ballot: EVERY_BALLOT })
    if ((await round.decided) === 'met') return { kind: 'released' }
    const majority = majorityOf(round.nodes)
    await round.untilHeard(majority)
    const minority = round.nodes - majority
    if (round.failed > minority) throw this.nodes.outage(round)
    return { kind: round.no > minority ? 'absent' : 'released' }
  }

  private listen(): void {
    if (this.listening) return
    this.listening = true
    const begun = this.nodes.connections.map((connection, number) => {
      const listening = connection.node.listen(
        this.inbox,
        (notification) => {
          if (notification.kind === 'free') this.elections.called(number, notification.id)
          this.waiting.hear(number, notification)
        },
        () => {
          void this.identities.look(number)
          void connection.greet()
          this.waiting.lookAll()
        },
        () => this.waiting.size > 0,
      )
      return Promise.all([listening, connection.greet()])
    })
    this.identities.begin(begun)
  }

  private tell(notice: StoreNotice): void {
    for (const listener of this.listeners) listener(notice)
  }
}

function unknown(error: unknown): Unknown {
  return { kind: 'unknown', error: error as Error }
}
