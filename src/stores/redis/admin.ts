import type { Fact, InspectOptions, Remains } from '../../core/facts.ts'
import type { Runtime } from '../../core/runtime.ts'
import type { Admin } from '../../core/store.ts'
import { StoreError } from '../../errors.ts'
import {
  type EvictAnswer,
  isInUse,
  type KeyView,
  seqOf,
  step,
  strangeView,
  viewOf,
} from '../../model/index.ts'
import type { RedisClient } from './clients/client.ts'
import { type Reachable, reachableServers } from './cluster/reachable.ts'
import { unknownFormat } from './codec.ts'
import { RedisInspection } from './inspection.ts'
import { keyOfLock, lockName, lockPattern } from './names.ts'
import { readLocks } from './reading.ts'
import { RULES } from './rules.ts'
import { scan } from './scan.ts'
import type { Scripting } from './scripting.ts'
import { lockStateOf } from './state.ts'

const KEYS_PER_READ = 100

export class RedisAdmin implements Admin {
  private readonly scripting: Scripting
  private readonly runtime: Runtime
  private readonly inspection: RedisInspection

  constructor(scripting: Scripting, runtime: Runtime, replicasToWaitFor: number) {
    this.scripting = scripting
    this.runtime = runtime
    this.inspection = new RedisInspection(scripting, runtime, replicasToWaitFor)
  }

  async read(key: string): Promise<KeyView> {
    const [view] = await this.readAll([key])
    if (view === undefined || view === null) throw unknownFormat()
    return view
  }

  /**
   * By cursor, so that each call is short; a key that comes or goes meanwhile may be shown or not. If a server of a cluster is silent,
   * the keys of the others come first, and then an error that names it.
   */
  async *list(prefix: string, onPage?: () => void): AsyncIterable<KeyView> {
    const { client } = this.scripting
    const shown = new Set<string>()
    const { servers, silent } = await reachableServers(client, this.runtime)
    for (const server of servers) {
      for await (const found of keysOf(server, prefix, onPage)) {
        const keys = found.filter((key) => !shown.has(key))
        for (let first = 0; first < keys.length; first += KEYS_PER_READ) {
          const some = keys.slice(first, first + KEYS_PER_READ)
          for (const [index, seen] of (await this.readAll(some)).entries()) {
            const view = seen ?? strangeView(some[index] as string)
            if (!isInUse(view) || shown.has(view.key)) continue
            // A cursor may bring the same key twice, and so may two servers when its slot moves.
            shown.add(view.key)
            yield view
          }
        }
      }
    }
    if (silent.length > 0) throw unseen(silent, servers.length + silent.length)
  }

  async evict(key: string, token: bigint | null, ask: boolean): Promise<EvictAnswer> {
    const seq = token === null ? '' : String(seqOf(token))
    const labels: string[] = []
    // A crowd in parts, so that each call is short.
    for (let from = 0; from >= 0; ) {
      const args = [ask ? 'ask' : 'evict', seq, String(from)]
      const answer = await this.scripting.run('evict', [lockName(key)], args)
      if (!Array.isArray(answer)) throw unknownFormat()
      const [next, ...some] = answer as [unknown, ...string[]]
      labels.push(...some)
      from = Number(next)
    }
    return { kind: labels.length === 0 ? 'absent' : 'evicted', labels }
  }

  inspect(options: InspectOptions, onPage?: () => void): AsyncIterable<Fact> {
    return this.inspection.facts(options, onPage)
  }

  reap(remains: readonly Remains[], olderMs: number): Promise<readonly boolean[]> {
    return this.inspection.reap(remains, olderMs)
  }

  /** The keys without expired claims; null for an unknown format. */
  private async readAll(keys: readonly string[]): Promise<(KeyView | null)[]> {
    const { cluster } = this.scripting.client
    if (cluster === null) return this.readSome(keys)
    return (await Promise.all(keys.map((key) => this.readSome([key])))).flat()
  }

  private async readSome(keys: readonly string[]): Promise<(KeyView | null)[]> {
    const { stampUs, states } = await readLocks(this.scripting, keys.map(lockName))
    const clock = { nowMs: Math.floor(stampUs / 1000), stampUs }
    return states.map((raw, index) => {
      if (raw === null) return null
      const key = keys[index] as string
      const { state } = step(lockStateOf(key, raw), { kind: 'tick' }, clock, RULES)
      return viewOf(key, state, clock.nowMs)
    })
  }
}

function unseen(silent: Reachable['silent'], servers: number): StoreError {
  const names = silent.map(({ name, why }) => `${name}: ${why}`).join('; ')
  return new StoreError(
    `the keys of ${silent.length} of ${servers} servers of the Redis cluster could not be seen: ${names}`,
  )
}

async function* keysOf(
  server: RedisClient,
  prefix: string,
  onPage?: () => void,
): AsyncIterable<readonly string[]> {
  for await (const names of scan(server, lockPattern(prefix, server.keyPrefix), onPage))
    yield names.map(keyOfLock).filter((key) => key.startsWith(prefix))
}
