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
import { Assembly } from './assembly.ts'
import { Elections } from './election.ts'
import { Extensions } from './extension.ts'
import { outage } from './failures.ts'
import { Identities } from './identities.ts'
import { EVERY_BALLOT, type Question, type QuorumNode } from './protocol.ts'
import { majorityOf, votesNeeded } from './tally.ts'
import { NodeTimes } from './times.ts'
import { TRAITS } from './traits.ts'
import { Waiting } from './waiting.ts'

/** A majority of independent nodes decides; a minority of them may fail. */
export class QuorumStore implements Store {
  readonly traits: Traits = TRAITS
  readonly records = null
  readonly admin: QuorumAdmin
  private readonly assembly: Assembly
  private readonly waiting: Waiting
  private readonly elections: Elections
  private readonly extensions: Extensions
  private readonly identities: Identities
  readonly inbox: string
  private readonly timeoutMs: (ttlMs: number) => number
  private readonly listeners = new Set<(notice: StoreNotice) => void>()
  private listening = false

  constructor(nodes: readonly QuorumNode[], runtime: Runtime, timeoutMs: (ttlMs: number) => number) {
    this.timeoutMs = timeoutMs
    this.inbox = runtime.newId()
    const times = new NodeTimes(nodes.length, runtime)
    this.assembly = new Assembly(nodes, runtime, times.note)
    this.waiting = new Waiting(nodes.length, runtime, (notice) => this.tell(notice))
    this.elections = new Elections(this.assembly, runtime, times, this.waiting, this.inbox, timeoutMs)
    this.extensions = new Extensions(this.assembly, this.elections, this.waiting, this.inbox, timeoutMs)
    this.identities = new Identities(nodes, runtime)
    this.admin = new QuorumAdmin(nodes, runtime)
  }

  /** Settles when the nodes were looked at; throws when two of them are the same server. */
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
    return this.each(claims, (claim) => this.extensions.renew(claim))
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
    await this.assembly.settle(CLOSE_MS)
    this.assembly.stop()
    await Promise.all(this.assembly.lanes.map(({ node }) => node.close()))
  }

  /** A claim that fails spoils none of the others. */
  private each<A>(
    claims: readonly Claim[],
    ask: (claim: Claim) => Promise<A>,
  ): Promise<readonly (A | Unknown)[]> {
    const [first] = claims
    return this.assembly.together(() =>
      claims.length === 1 && first !== undefined
        ? ask(first).then(alone)
        : Promise.all(claims.map((claim) => ask(claim).catch(unknown))),
    )
  }

  /** Absent only when so many nodes say so that the rest is no majority. */
  private async releaseOne(claim: Claim): Promise<ReleaseAnswer> {
    this.waiting.forget(claim.id)
    this.extensions.end(claim.id)
    this.elections.end(claim.id)
    const question: Question = { kind: 'release', claim, ballot: EVERY_BALLOT }
    const round = this.assembly.release(
      question,
      votesNeeded(claim.mode, this.assembly.size),
      this.timeoutMs(claim.ttlMs),
    )
    if ((await round.decided) === 'met') return { kind: 'released' }
    await round.untilHeard(majorityOf(this.assembly.size))
    const minority = this.assembly.size - majorityOf(this.assembly.size)
    if (round.failed > minority) throw outage(round, this.assembly.lanes)
    return { kind: round.no > minority ? 'absent' : 'released' }
  }

  private listen(): void {
    if (this.listening) return
    this.listening = true
    const begun = this.assembly.lanes.map((lane, place) => {
      const listening = lane.node.listen(
        this.inbox,
        (call) => {
          if (call.kind === 'contended') lane.noteWanted(call.id)
          if (call.kind === 'free') this.elections.called(place, call.id)
          this.waiting.hear(place, call)
        },
        () => {
          void this.identities.look(place)
          void lane.greet()
          this.waiting.lookAll()
        },
        () => this.waiting.size > 0,
      )
      return Promise.all([listening, lane.greet()])
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

function alone<A>(answer: A): readonly A[] {
  return [answer]
}

/** How long closing waits for what is on its way to the slower nodes. */
const CLOSE_MS = 250
