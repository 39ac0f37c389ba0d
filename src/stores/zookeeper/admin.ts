import type { Admin } from '../../core/store.ts'
import type { EvictAnswer, HolderView, KeyView, Mode, WaiterView } from '../../model/index.ts'
import { isInUse, TOKENS_PER_SEQ } from '../../model/index.ts'
import { both, type Desk } from './context.ts'
import { encoded, keyDataOf, type NodeData, nodeDataOf, requireKnown, tokenFrom } from './format.ts'
import { type NodeName, textOf } from './names.ts'
import { founderOf } from './places.ts'
import { type Place, Queue } from './node-queue.ts'
import type { ZooKeeperClient } from './client/client.ts'
import { isWire } from './client/errors.ts'
import type { Stat } from './client/protocol.ts'

/** A node with what it tells about itself. */
interface Seen {
  readonly place: Place
  readonly holds: boolean
  readonly node: NodeName
  readonly path: string
  readonly data: NodeData
  readonly stat: Stat
}

const KEYS_AT_ONCE = 100

export class ZooKeeperAdmin implements Admin {
  private readonly desk: Desk

  constructor(desk: Desk) {
    this.desk = desk
  }

  async read(key: string): Promise<KeyView> {
    const { client } = await this.desk.sessions.any()
    await client.sync(this.desk.paths.root)
    return this.viewOf(client, key)
  }

  async *list(prefix: string): AsyncIterable<KeyView> {
    const { paths, sessions } = this.desk
    const { client } = await sessions.any()
    const [, { names }] = await both(client.sync(paths.root), client.getChildren(paths.locks))
    const wanted = names
      .map(textOf)
      .filter((key) => key.startsWith(prefix))
      .sort()
    for (let first = 0; first < wanted.length; first += KEYS_AT_ONCE) {
      const page = wanted.slice(first, first + KEYS_AT_ONCE)
      // Whoever reads the list may take its time: the session may have ended meanwhile.
      const { client: reader } = await sessions.any()
      const seen = page.map((key) => this.viewOf(reader, key))
      for (const view of await Promise.all(seen)) if (isInUse(view)) yield view
    }
  }

  async evict(key: string, token: bigint | null, ask: boolean): Promise<EvictAnswer> {
    const { client } = await this.desk.sessions.any()
    await client.sync(this.desk.paths.root)
    const { queue, seen } = await this.see(client, key)
    requireKnown(queue)
    const meant = seen.filter((each) => {
      const fits = token === null || founderIn(each) === token / TOKENS_PER_SEQ
      return each.holds && each.data.closedMs === undefined && fits
    })
    const done = ask
      ? await askToLetGo(client, this.desk.paths.lock(key), seen, meant)
      : await Promise.all(meant.map((each) => end(client, each)))
    const labels = meant.filter((_, index) => done[index]).map(({ data }) => data.label)
    return { kind: labels.length === 0 ? 'absent' : 'evicted', labels }
  }

  private async viewOf(client: ZooKeeperClient, key: string): Promise<KeyView> {
    const { queue, seen } = await this.see(client, key)
    const nowMs = this.desk.clock.nowMs()
    const closed = seen.filter(({ data }) => data.closedMs !== undefined)
    const holding = seen.filter(({ holds, data }) => holds && data.closedMs === undefined)
    const waiting = seen.filter(({ holds, node }) => !holds && node.queued)
    const tokens = holding.map((each) => tokenFrom(founderIn(each)))
    const mode = queue.first?.mode
    return {
      key,
      holders: holding.map((each) => holderView(each, nowMs)),
      line: waiting.map((each) => waiterView(each, nowMs)),
      token: tokens.reduce<bigint | null>(
        (most, token) => (most === null || token > most ? token : most),
        null,
      ),
      limit: mode?.kind === 'permits' && holding.length + waiting.length > 0 ? mode.limit : null,
      closedForMs: Math.max(
        0,
        ...closed.map(({ data, stat }) => Math.round(stat.mtimeMs + (data.closedMs ?? 0) - nowMs)),
      ),
    }
  }

  /** Nodes that go while they are looked at are left out. */
  private async see(client: ZooKeeperClient, key: string): Promise<{ queue: Queue; seen: Seen[] }> {
    const keyPath = this.desk.paths.lock(key)
    const names = await unlessGone(client.list(keyPath))
    const queue = new Queue(names ?? [])
    const look = async (place: Place, node: NodeName, holds: boolean): Promise<Seen | null> => {
      const path = `${keyPath}/${node.name}`
      const read = await unlessGone(client.getData(path))
      return read === null ? null : { place, holds, node, path, data: nodeDataOf(read.data), stat: read.stat }
    }
    const looks = [
      ...queue.holders.flatMap((place) => place.nodes.map((node) => look(place, node, true))),
      ...queue.waiters.flatMap((place) => place.nodes.map((node) => look(place, node, false))),
    ]
    return { queue, seen: (await Promise.all(looks)).filter((each) => each !== null) }
  }
}

async function end(client: ZooKeeperClient, { path }: Seen): Promise<boolean> {
  return (await unlessGone(client.delete(path).then(() => true))) ?? false
}

/** Written to the container, for whoever watches a holder's node takes a change of it for its release. */
async function askToLetGo(
  client: ZooKeeperClient,
  keyPath: string,
  seen: readonly Seen[],
  holders: readonly Seen[],
): Promise<readonly boolean[]> {
  for (;;) {
    const read = await unlessGone(client.getData(keyPath))
    if (read === null) return holders.map(() => false)
    const before = keyDataOf(read.data).asks
    const asks: Record<string, number> = {}
    for (const { place } of seen) asks[place.seq] = before[place.seq] ?? 0
    for (const { place } of holders) asks[place.seq] = (before[place.seq] ?? 0) + 1
    try {
      const written = await unlessGone(client.setData(keyPath, encoded({ asks }), read.stat.version))
      return holders.map(() => written !== null)
    } catch (error) {
      // Another operator was quicker.
      if (!isWire(error, 'BadVersion')) throw error
    }
  }
}

async function unlessGone<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (isWire(error, 'NoNode')) return null
    throw error
  }
}

function founderIn({ node, data, stat }: Seen): bigint {
  return founderOf(node, data, stat)
}

/** A session that lives renews what it holds, so that what is left is the ttl at most. */
function holderView(seen: Seen, nowMs: number): HolderView {
  const { place, data, stat } = seen
  return {
    ...aboutOf(seen),
    token: tokenFrom(founderIn(seen)),
    heldMs: Math.max(0, Math.round(nowMs - stat.ctimeMs - (data.waitedMs ?? 0))),
    mode: place.mode.kind,
    weight: weightOf(place.mode),
  }
}

function waiterView(seen: Seen, nowMs: number): WaiterView {
  const { ttlMs } = seen.data
  return { ...aboutOf(seen), ttlMs, waitedMs: Math.max(0, Math.round(nowMs - seen.stat.ctimeMs)) }
}

function aboutOf({ place, node, data }: Seen) {
  return {
    label: node.foreign ? `another version of Holdfast ${data.label}`.trimEnd() : data.label,
    owner: node.owner,
    actor: data.actor,
    mode: place.mode.kind,
    weight: weightOf(place.mode),
    expiresInMs: data.ttlMs,
    meta: data.meta,
  }
}

function weightOf(mode: Mode): number {
  return mode.kind === 'permits' ? mode.weight : 1
}
