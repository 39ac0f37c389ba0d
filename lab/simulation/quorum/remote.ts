import type { Ballots, NodeNotification, Question, QuorumNode } from '../../../src/stores/quorum/protocol.ts'
import type { Host } from '../host.ts'
import type { Network } from '../network.ts'
import type { Parcel } from '../plan.ts'
import type { LeakedVotes } from './leaked-votes.ts'
import type { NodeServer } from './server.ts'

/** A client's side of one node: every call is a request over the network, every answer a reply. */
export class RemoteNode implements QuorumNode {
  readonly name: string
  private readonly link: string
  private readonly host: Host
  private readonly network: Network
  private readonly server: NodeServer
  private readonly number: number
  private readonly leaked: LeakedVotes
  private listener: ((notification: NodeNotification) => void) | null = null
  private open = true

  constructor(
    link: string,
    host: Host,
    network: Network,
    server: NodeServer,
    number: number,
    leaked: LeakedVotes,
  ) {
    this.name = server.name
    this.link = link
    this.host = host
    this.network = network
    this.server = server
    this.number = number
    this.leaked = leaked
  }

  get isClosed(): boolean {
    return !this.open
  }

  send(
    questions: readonly Question[],
    answered: (ballots: Ballots) => void,
    failed: (error: Error) => void,
  ): void {
    void this.ask(questions).then(answered, failed)
  }

  private ask(questions: readonly Question[]): Promise<Ballots> {
    if (!this.open) return Promise.reject(new Error('the connection is closed'))
    const sentAtMs = this.leaked.sent(this.number, questions)
    return new Promise((resolve, reject) => {
      const settle = (ballots: Ballots | null): void => {
        if (ballots === null) reject(new Error('connection refused'))
        else {
          this.leaked.answered(this.number, questions, ballots, sentAtMs)
          resolve(ballots)
        }
      }
      const respond = (ballots: Ballots | null): void => {
        this.network.send(this.link, 'down', 'reply', () => this.host.enter(() => settle(ballots)), false)
      }
      this.network.send(
        this.link,
        'up',
        parcelOf(questions),
        () => this.server.receive(questions, respond),
        true,
      )
    })
  }

  async timeUs(): Promise<number> {
    return (await this.ask([])).stampUs ?? 0
  }

  /** A call of the server, which still has to cross the network. */
  receive(notification: NodeNotification): void {
    const hear = (): void => {
      if (this.open) this.listener?.(notification)
    }
    this.network.send(this.link, 'down', 'notice', () => this.host.enter(hear), false)
  }

  async identify(): Promise<string> {
    return this.name
  }

  async listen(_inbox: string, listener: (notification: NodeNotification) => void): Promise<void> {
    this.listener = listener
  }

  read(): never {
    throw new Error('no plan reads')
  }

  scan(): never {
    throw new Error('no plan lists')
  }

  evict(): never {
    throw new Error('no plan evicts')
  }

  async close(): Promise<void> {
    this.open = false
  }
}

/** Questions of all kinds travel together; targeted faults meet the most interesting one. */
function parcelOf(questions: readonly Question[]): Parcel {
  const kinds = new Set(questions.map(({ kind }) => kind))
  return kinds.has('claim') ? 'attempt' : kinds.has('renew') ? 'renew' : 'release'
}
