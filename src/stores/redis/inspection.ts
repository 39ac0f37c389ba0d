import type { DeafFact, Fact, InspectOptions, Remains } from '../../core/facts.ts'
import type { Runtime } from '../../core/runtime.ts'
import { type KeyState, lastLifeMs } from '../../model/index.ts'
import { factsOf } from './check/facts.ts'
import { findingsOf } from './check/findings.ts'
import { pairsOf, type RedisClient } from './clients/client.ts'
import { reachableServers } from './cluster/reachable.ts'
import {
  foreignPattern,
  inboxChannel,
  isOurs,
  keyOfLock,
  lockPattern,
  STOCK_PARTS,
  stockOfPart,
} from './names.ts'
import { readLocks } from './reading.ts'
import { parts, scan } from './scan.ts'
import type { Scripting } from './scripting.ts'
import { lockStateOf } from './state.ts'

const KEYS_PER_CALL = 100
const INBOXES_PER_CALL = 100

/** Facts about the servers for an operator, and leftover keys. */
export class RedisInspection {
  private readonly scripting: Scripting
  private readonly runtime: Runtime
  private readonly replicasToWaitFor: number

  constructor(scripting: Scripting, runtime: Runtime, replicasToWaitFor: number) {
    this.scripting = scripting
    this.runtime = runtime
    this.replicasToWaitFor = replicasToWaitFor
  }

  async *facts(options: InspectOptions, onPage?: () => void): AsyncIterable<Fact> {
    const { client } = this.scripting
    const { servers, silent } = await reachableServers(client, this.runtime)
    for (const { name, why } of silent) yield { kind: 'unseen', what: `the Redis server ${name}`, why }
    for (const server of servers) {
      yield* this.server(server)
      yield* this.locks(server, options, onPage)
      yield* this.stocks(server, onPage)
      for (const pattern of options.foreign) yield* this.foreign(server, pattern, options.values, onPage)
    }
    if (client.cluster !== null)
      yield {
        kind: 'unseen',
        what: 'who listens',
        why: 'every server of a cluster knows its own listeners only',
      }
  }

  /** Removes leftovers that an inspection found. One script compares and removes each, so that nothing alive is touched. */
  reap(remains: readonly Remains[], olderMs: number): Promise<readonly boolean[]> {
    return Promise.all(remains.map((each) => this.remove(each, olderMs)))
  }

  private async remove({ name, kind, proof }: Remains, olderMs: number): Promise<boolean> {
    if (kind === 'foreign') {
      if (isOurs(name)) return false
      const seconds = String(Math.ceil(olderMs / 1000))
      return Number(await this.scripting.run('foreignReap', [name], [seconds, proof])) === 1
    }
    const isPart = STOCK_PARTS.some((part) => name.startsWith(part))
    const removed = isPart
      ? await this.scripting.run('stockTidy', stockOfPart(name), [])
      : await this.scripting.run('tidy', [name], [])
    return Number(removed) > 0
  }

  private async *server(server: RedisClient): AsyncIterable<Fact> {
    const facts = await factsOf(server, this.runtime)
    if (facts.clockAheadMs !== null)
      yield {
        kind: 'clock',
        whose: `the Redis server on port ${facts.port}`,
        aheadMs: facts.clockAheadMs,
      }
    // A wrong clock is a fact of its own.
    yield* findingsOf({ ...facts, clockAheadMs: null }, this.replicasToWaitFor)
  }

  private async *locks(
    server: RedisClient,
    { deadForMs }: InspectOptions,
    onPage?: () => void,
  ): AsyncIterable<Fact> {
    const listeners = new Map<string, DeafFact[]>()
    for await (const names of scan(server, lockPattern('', server.keyPrefix), onPage)) {
      const own = names.map((name) => name.slice(server.keyPrefix.length))
      for (const some of this.calls(own)) {
        const { stampUs, states } = await readLocks(this.scripting, some)
        const lives = (await this.scripting.run('foreignLook', some, [''])) as unknown[][]
        for (const [index, raw] of states.entries()) {
          const name = some[index] as string
          if (raw === null) continue
          const state = lockStateOf(keyOfLock(name), raw)
          const endedMs = lastLifeMs(state)
          const deadMs = endedMs === null ? 0 : Math.floor(stampUs / 1000) - endedMs
          if (Number(lives[index]?.[0]) === 1) yield orphan(name, 'a lock that the server never forgets')
          else if (endedMs !== null && deadMs > deadForMs)
            yield orphan(name, 'a lock whose holders and waiters are all dead', deadMs)
          noteInboxes(listeners, keyOfLock(name), state)
        }
      }
    }
    if (this.scripting.client.cluster === null) yield* this.deaf(server, listeners)
  }

  /** A process listens from before it learns of its first claim until after the end of the last; a claim without a listener is dead. */
  private async *deaf(
    server: RedisClient,
    listeners: ReadonlyMap<string, readonly DeafFact[]>,
  ): AsyncIterable<Fact> {
    for (const inboxes of parts([...listeners.keys()], INBOXES_PER_CALL)) {
      const channels = inboxes.map(inboxChannel)
      const counts = pairsOf(await server.send('PUBSUB', ['NUMSUB', ...channels]))
      for (const inbox of inboxes)
        if (Number(counts.get(inboxChannel(inbox))) === 0) yield* listeners.get(inbox) ?? []
    }
  }

  private async *stocks(server: RedisClient, onPage?: () => void): AsyncIterable<Fact> {
    for (const part of STOCK_PARTS) {
      for await (const found of scan(server, `${foreignPattern(part, server.keyPrefix)}*`, onPage)) {
        for (const name of found) {
          const own = name.slice(server.keyPrefix.length)
          const there = await this.scripting.client.send('EXISTS', [stockOfPart(own)[0] as string])
          if (Number(there) === 0) yield orphan(own, 'a part of a stock that is gone')
        }
      }
    }
  }

  private async *foreign(
    server: RedisClient,
    pattern: string,
    values: boolean,
    onPage?: () => void,
  ): AsyncIterable<Fact> {
    const { keyPrefix } = server
    const shown = new Set<string>()
    for await (const found of scan(server, foreignPattern(pattern, keyPrefix), onPage)) {
      const names = found.map((name) => name.slice(keyPrefix.length)).filter((name) => !isOurs(name))
      for (const some of this.calls(names)) {
        const looks = (await this.scripting.run('foreignLook', some, [values ? '1' : ''])) as unknown[][]
        for (const [index, [forever, type, idle, proof]] of looks.entries()) {
          const name = some[index] as string
          if (Number(forever) !== 1 || shown.has(name)) continue
          shown.add(name)
          yield {
            kind: 'foreign',
            name,
            what: `a ${type} without a ttl`,
            count: 1,
            blocking: true,
            idleMs: Number(idle) < 0 ? null : Number(idle) * 1000,
            proof: String(proof),
          }
        }
      }
    }
  }

  /** One key per call in a cluster: each has its own slot. */
  private calls(names: readonly string[]): readonly (readonly string[])[] {
    return parts(names, this.scripting.client.cluster === null ? KEYS_PER_CALL : 1)
  }
}

function orphan(name: string, what: string, idleMs: number | null = null): Remains {
  return { kind: 'orphan', name, what, count: 1, blocking: false, idleMs, proof: '' }
}

function noteInboxes(listeners: Map<string, DeafFact[]>, key: string, { holds, queue }: KeyState): void {
  const note = (inbox: string | null, role: DeafFact['role'], label: string): void => {
    if (inbox === null || inbox === '') return
    const facts = listeners.get(inbox) ?? []
    listeners.set(inbox, facts)
    facts.push({ kind: 'deaf', key, role, label })
  }
  for (const { inbox, label } of holds.flatMap(({ members }) => members)) note(inbox, 'holder', label)
  for (const { inbox, claim } of queue) note(inbox, 'waiter', claim.label)
}
