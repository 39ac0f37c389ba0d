import type { Runtime } from '../../../core/runtime.ts'
import type { RedisClient, Subscription } from '../../redis/clients/client.ts'
import { ReplacingClient } from '../../redis/clients/replacing.ts'
import { ResilientSubscription } from '../../redis/clients/resilient-subscription.ts'
import { inboxChannel } from '../../redis/names.ts'
import { parts, scan } from '../../redis/scan.ts'
import { isFull, runScript, type Script } from '../../redis/scripting.ts'
import { counted } from '../node-model/answer.ts'
import { nodeView } from '../node-model/state.ts'
import type { QuorumSettings } from '../options.ts'
import type { Ballots, NodeNotification, NodeView, Question, QuorumNode } from '../protocol.ts'
import { SCRIPTS } from '../scripts.generated.ts'
import { argumentsOf, ballotsOf, parseNodeNotification, timeUs, unknownNodeFormat } from './codec.ts'
import { keyOf, quorumName, quorumPattern } from './names.ts'
import { readKeys } from './reading.ts'
import { nodeStateOf } from './state.ts'

const KEYS_PER_PAGE = 50
const EVICTED_PER_CALL = 50

/** A server whose memory is full refuses only new claims. */
function scriptFor(questions: readonly Question[]): Script {
  return questions.some(isClaim) ? SCRIPTS.ask : SCRIPTS.askAlways
}

function isClaim({ kind }: Question): boolean {
  return kind === 'claim' || kind === 'join'
}

/** A Redis or Valkey server that votes. The scripts are a port of `node-model`. */
export class RedisNode implements QuorumNode {
  readonly name: string
  private readonly client: RedisClient
  private readonly runtime: Runtime
  private readonly callTimeoutMs: number
  private subscription: Subscription | null = null

  constructor(name: string, client: RedisClient, { runtime, callTimeoutMs }: QuorumSettings) {
    this.name = name
    this.client = new ReplacingClient(client, runtime, callTimeoutMs)
    this.runtime = runtime
    this.callTimeoutMs = callTimeoutMs
  }

  send(
    questions: readonly Question[],
    answered: (ballots: Ballots) => void,
    failed: (error: Error) => void,
  ): void {
    const names = questions.map(({ claim }) => quorumName(claim.key))
    const args = questions.flatMap(argumentsOf)
    const heard = (raw: unknown): void => {
      let ballots: Ballots
      try {
        ballots = ballotsOf(questions, raw)
      } catch (error) {
        failed(error as Error)
        return
      }
      answered(ballots)
    }
    const refused = (error: Error): void => {
      if (isFull(error) && questions.length > 1) this.sendOthers(questions, error, answered, failed)
      else failed(error)
    }
    void runScript(this.client, scriptFor(questions), names, args, heard, refused)
  }

  /** The memory of the server is full, and nothing was done: the questions go again without new claims. */
  private sendOthers(
    questions: readonly Question[],
    error: Error,
    answered: (ballots: Ballots) => void,
    failed: (error: Error) => void,
  ): void {
    const others = questions.filter((question) => !isClaim(question))
    const mergedView = ({ stampUs, votes }: Ballots): void => {
      const rest = [...votes]
      answered({
        stampUs,
        votes: questions.map((question) => (isClaim(question) ? error : (rest.shift() ?? error))),
      })
    }
    if (others.length === 0) failed(error)
    else this.send(others, mergedView, failed)
  }

  async timeUs(): Promise<number> {
    return timeUs((await this.client.send('TIME', [])) as readonly unknown[])
  }

  async identify(): Promise<string | null> {
    try {
      const info = String(await this.client.send('INFO', ['server']))
      return /^run_id:(\w+)/m.exec(info)?.[1] ?? null
    } catch (error) {
      if (error instanceof Error && /NOPERM|unknown command/i.test(error.message)) return null
      throw error
    }
  }

  listen(
    inbox: string,
    listener: (notification: NodeNotification) => void,
    up: () => void,
    needed: () => boolean,
  ): Promise<void> {
    const receive = (message: string): void => {
      const notification = parseNodeNotification(message)
      if (notification !== null) listener(notification)
    }
    this.subscription ??= new ResilientSubscription(this.client, this.runtime, this.callTimeoutMs, {
      channel: inboxChannel(inbox),
      receive,
      up,
      needed,
    })
    return this.subscription.begun
  }

  async read(keys: readonly string[]): Promise<readonly (NodeView | Error)[]> {
    const { stampUs, states } = await readKeys(this.client, keys.map(quorumName))
    const clock = { nowMs: Math.floor(stampUs / 1000), stampUs }
    return states.map((raw, index) => {
      if (raw === null) return unknownNodeFormat()
      const key = keys[index] as string
      return nodeView(key, counted(key, nodeStateOf(key, raw), clock), clock.nowMs)
    })
  }

  /** By cursor, so that each call is short. */
  async *scan(prefix: string): AsyncIterable<readonly string[]> {
    for await (const names of scan(this.client, quorumPattern(prefix, this.client.keyPrefix))) {
      // An empty part of the scan is a page, too: each page has its own deadline.
      if (names.length === 0) yield []
      for (const page of parts(names, KEYS_PER_PAGE)) yield page.map(keyOf)
    }
  }

  /** A crowd in parts, so that each call is short. */
  async evict(key: string, ids: readonly string[], ask: boolean): Promise<void> {
    for (const some of parts(ids, EVICTED_PER_CALL)) {
      const args = [ask ? 'ask' : 'evict', ...some]
      const found = await runScript(this.client, SCRIPTS.evict, [quorumName(key)], args, Number)
      if (found < 0) throw unknownNodeFormat()
    }
  }

  async close(): Promise<void> {
    await this.subscription?.close()
    await this.client.close()
  }
}
