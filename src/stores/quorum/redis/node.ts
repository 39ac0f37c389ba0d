import type { RedisClient, Subscription } from '../../redis/clients/client.ts'
import { runCommand, runScript } from '../../redis/scripting.ts'
import { counted } from '../meaning/answer.ts'
import { nodeView } from '../meaning/view.ts'
import type { Ballots, Call, NodeView, Question, QuorumNode } from '../protocol.ts'
import { SCRIPTS } from '../scripts.generated.ts'
import { ballotsOf, callOf, questionText, timeUs, unknownFormat } from './codec.ts'
import { inboxChannel, keyOf, quorumName, quorumPattern } from './names.ts'
import { type RawState, stateOf } from './state.ts'

const KEYS_PER_SCAN = '500'
const KEYS_PER_PAGE = 100

/** One question alone is the usual case, and goes to every node in the same words: they are written once. */
function commandOf(question: Question): readonly string[] {
  question.command ??= [SCRIPTS.ask.sha, '1', quorumName(question.claim.key), questionText(question)]
  return question.command
}

function jointCommand(questions: readonly Question[]): readonly string[] {
  const names = questions.map(({ claim }) => quorumName(claim.key))
  return [SCRIPTS.ask.sha, String(questions.length), ...names, ...questions.map(questionText)]
}

/** A Redis or Valkey server that votes. The scripts are the port of `meaning`. */
export class RedisNode implements QuorumNode {
  readonly name: string
  private readonly client: RedisClient
  private subscription: Subscription | null = null

  constructor(name: string, client: RedisClient) {
    this.name = name
    this.client = client
  }

  send(
    questions: readonly Question[],
    answered: (ballots: Ballots) => void,
    failed: (error: Error) => void,
  ): void {
    const command = questions.length === 1 ? commandOf(questions[0] as Question) : jointCommand(questions)
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
    void runCommand(this.client, SCRIPTS.ask, command, heard, failed)
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

  listen(inbox: string, listener: (call: Call) => void, up: () => void): Promise<void> {
    const receive = (message: string): void => {
      const call = callOf(message)
      if (call !== null) listener(call)
    }
    this.subscription ??= this.client.subscribe(inboxChannel(inbox), receive, up)
    return this.subscription.begun
  }

  async read(keys: readonly string[]): Promise<readonly NodeView[]> {
    const raw = await runScript(
      this.client,
      SCRIPTS.read,
      keys.map(quorumName),
      [],
      (all) => all as unknown[],
    )
    const [stamp, ...states] = raw
    const stampUs = Number(stamp)
    const clock = { nowMs: Math.floor(stampUs / 1000), stampUs }
    return states.map((each, index) => {
      if (!Array.isArray(each)) throw unknownFormat()
      const key = keys[index] as string
      return nodeView(key, counted(key, stateOf(key, each as unknown as RawState), clock), clock.nowMs)
    })
  }

  /** By cursor, so that the server is never held up. */
  async *scan(prefix: string): AsyncIterable<readonly string[]> {
    const pattern = quorumPattern(prefix, this.client.keyPrefix)
    let cursor = '0'
    do {
      const page = await this.client.send('SCAN', [cursor, 'MATCH', pattern, 'COUNT', KEYS_PER_SCAN])
      const [next, names] = page as [unknown, string[]]
      cursor = String(next)
      for (let first = 0; first < names.length; first += KEYS_PER_PAGE)
        yield names.slice(first, first + KEYS_PER_PAGE).map(keyOf)
    } while (cursor !== '0')
  }

  async evict(key: string, ids: readonly string[], ask: boolean): Promise<void> {
    const args = [ask ? 'ask' : 'evict', ids.map((id) => `${id}\0`).join('')]
    const found = await runScript(this.client, SCRIPTS.evict, [quorumName(key)], args, Number)
    if (found < 0) throw unknownFormat()
  }

  async close(): Promise<void> {
    await this.subscription?.close()
    await this.client.close()
  }
}
