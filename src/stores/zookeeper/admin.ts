import type { Admin } from '../../core/store.ts'
import type { EvictAnswer, HolderView, KeyView, Mode, WaiterView } from '../../model/index.ts'
import { isInUse, TOKENS_PER_SEQ } from '../../model/index.ts'
import { both, type ZooKeeperClient } from './client/client.ts'
import { isWire } from './client/errors.ts'
import type { Stat } from './client/protocol.ts'
import type { StoreContext } from './context.ts'
import { deleteNode } from './expiry.ts'
import { encoded, keyDataOf, type NodeData, requireKnown, tokenFrom } from './format.ts'
import { type NodeName, textOf } from './names.ts'
import { NodeQueue, type Position } from './node-queue.ts'
import { founderOf, readNode, unlessGone } from './read.ts'

/** A node with its data. */
interface NodeSeen {
  readonly position: Position
  readonly holds: boolean
  readonly node: NodeName
  readonly path: string
  readonly data: NodeData
  readonly stat: Stat
}

const KEYS_AT_ONCE = 100

export class ZooKeeperAdmin implements Admin {
  private readonly context: StoreContext

  constructor(context: StoreContext) {
    this.context = context
  }

  async read(key: string): Promise<KeyView> {
    const { client } = await this.context.sessions.any()
    await client.sync(this.context.paths.root)
    return this.viewOf(client, key)
  }

  async *list(prefix: string): AsyncIterable<KeyView> {
    const { paths, sessions } = this.context
    const { client } = await sessions.any()
    const [, names] = await both(client.sync(paths.root), client.list(paths.locks))
    const wanted = names
      .map(textOf)
      .filter((key) => key.startsWith(prefix))
      .sort()
    for (let first = 0; first < wanted.length; first += KEYS_AT_ONCE) {
      const page = wanted.slice(first, first + KEYS_AT_ONCE)
      // The consumer may be slow, and the session may have ended meanwhile.
      const { client: reader } = await sessions.any()
      const seen = page.map((key) => this.viewOf(reader, key))
      for (const view of await Promise.all(seen)) if (isInUse(view)) yield view
    }
  }

  async evict(key: string, token: bigint | null, ask: boolean): Promise<EvictAnswer> {
    const { client } = await this.context.sessions.any()
    await client.sync(this.context.paths.root)
    const { queue, seen } = await this.see(client, key)
    requireKnown(queue)
    const meant = seen.filter((each) => {
      const fits = token === null || founderIn(each) === token / TOKENS_PER_SEQ
      return each.holds && each.data.closedMs === undefined && fits
    })
    const done = ask
      ? await askToRelease(client, this.context.paths.lock(key), seen, meant)
      : await Promise.all(meant.map(({ path }) => deleteNode(client, path)))
    const labels = meant.filter((_, index) => done[index]).map(({ data }) => data.label)
    return { kind: labels.length === 0 ? 'absent' : 'evicted', labels }
  }

  private async viewOf(client: ZooKeeperClient, key: string): Promise<KeyView> {
    const { queue, seen } = await this.see(client, key)
    const nowMs = this.context.clock.nowMs()
    const closed = seen.filter(({ data }) => data.closedMs !== undefined)
    const holding = seen.filter(({ holds, data }) => holds && data.closedMs === undefined)
    const waiting = seen.filter(({ holds, node }) => !holds && node.queued)
    const tokens = holding.map((each) => tokenFrom(founderIn(each)))
    const mode = queue.first?.mode
    return {
      key,
      holders: holding.map((each) => holderView(each, nowMs)),
      queue: waiting.map((each) => waiterView(each, nowMs)),
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

  /** Leaves out nodes that go while they are read. */
  private async see(client: ZooKeeperClient, key: string): Promise<{ queue: NodeQueue; seen: NodeSeen[] }> {
    const keyPath = this.context.paths.lock(key)
    const names = await unlessGone(client.list(keyPath))
    const queue = new NodeQueue(names ?? [])
    const look = async (position: Position, node: NodeName, holds: boolean): Promise<NodeSeen | null> => {
      const path = `${keyPath}/${node.name}`
      const read = await readNode(client, path)
      return read && { position, holds, node, path, ...read }
    }
    const looks = [
      ...queue.holders.flatMap((position) => position.nodes.map((node) => look(position, node, true))),
      ...queue.waiters.flatMap((position) => position.nodes.map((node) => look(position, node, false))),
    ]
    return { queue, seen: (await Promise.all(looks)).filter((each) => each !== null) }
  }
}

/** Writes to the container, because a change of a holder's node means its release. */
async function askToRelease(
  client: ZooKeeperClient,
  keyPath: string,
  seen: readonly NodeSeen[],
  holders: readonly NodeSeen[],
): Promise<readonly boolean[]> {
  for (;;) {
    const read = await unlessGone(client.getData(keyPath))
    if (read === null) return holders.map(() => false)
    const before = keyDataOf(read.data).asks
    const asks: Record<string, number> = {}
    for (const { position } of seen) asks[position.seq] = before[position.seq] ?? 0
    for (const { position } of holders) asks[position.seq] = (before[position.seq] ?? 0) + 1
    try {
      const written = await unlessGone(client.setData(keyPath, encoded({ asks }), read.stat.version))
      return holders.map(() => written !== null)
    } catch (error) {
      // Another operator wrote first.
      if (!isWire(error, 'BadVersion')) throw error
    }
  }
}

function founderIn({ node, data, stat }: NodeSeen): bigint {
  return founderOf(node, data, stat)
}

/** A living session renews its holds, so the ttl is the most that remains. */
function holderView(seen: NodeSeen, nowMs: number): HolderView {
  const { position, data, stat } = seen
  return {
    ...aboutOf(seen),
    token: tokenFrom(founderIn(seen)),
    heldMs: Math.max(0, Math.round(nowMs - stat.ctimeMs - (data.waitedMs ?? 0))),
    mode: position.mode.kind,
    weight: weightOf(position.mode),
  }
}

function waiterView(seen: NodeSeen, nowMs: number): WaiterView {
  const { ttlMs } = seen.data
  return { ...aboutOf(seen), ttlMs, waitedMs: Math.max(0, Math.round(nowMs - seen.stat.ctimeMs)) }
}

function aboutOf({ position, node, data }: NodeSeen) {
  return {
    label: node.foreign ? `another version of Holdfast ${data.label}`.trimEnd() : data.label,
    owner: node.owner,
    actor: data.actor,
    mode: position.mode.kind,
    weight: weightOf(position.mode),
    expiresInMs: data.ttlMs,
    meta: data.meta,
  }
}

function weightOf(mode: Mode): number {
  return mode.kind === 'permits' ? mode.weight : 1
}
