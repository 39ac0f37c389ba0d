import { type ClaimAnswer, covers, refused } from '../../model/index.ts'
import { blockedBy, granted } from './answers.ts'
import { both, type Desk } from './desk.ts'
import type { Entry, OwnNode } from './entry.ts'
import { removeNode } from './expiry.ts'
import { nodeDataOf } from './format.ts'
import {
  findId,
  findName,
  isContended,
  type Line,
  ownHold,
  type Place,
  positionOf,
  refusalOf,
  watchedBy,
} from './line.ts'
import type { NodeName, PlaceName } from './names.ts'
import { standAt } from './places.ts'
import type { LockSession } from './sessions.ts'
import { isWire } from './wire/errors.ts'

/**
 * What the line means for a claim that stands in it: it holds, it waits and will be told, or it is refused.
 * Null when its node is not there any more.
 */
export async function settle(
  desk: Desk,
  entry: Entry,
  line: Line,
  sentAtMs: number,
): Promise<ClaimAnswer | null> {
  const { claim } = entry
  const { client } = entry.session as LockSession
  for (let seen: Line | null = line; seen !== null; seen = await desk.lineAt(client, entry.keyPath)) {
    const { name } = entry.node as OwnNode
    const place = findName(seen, name)
    if (place === undefined) return null
    const before = seen.slice(0, seen.indexOf(place))
    const twin = findId(before, claim.id)
    if (twin !== undefined) {
      await removeNode(entry)
      return takeOver(desk, entry, twin, sentAtMs)
    }
    const refusal = refusalOf(before, claim)
    if (refusal !== null) {
      await removeNode(entry)
      desk.forget(entry)
      return refusal
    }
    entry.contended = isContended(seen)
    entry.alone = seen.length === 1 && place.nodes.length === 1
    if (place.holds) {
      desk.hold(entry, 'held', sentAtMs + claim.ttlMs)
      return granted(entry)
    }
    const own = ownHold(before, claim.owner)
    if (own !== undefined) {
      const answer = await join(desk, entry, own, sentAtMs)
      if (answer !== null) return answer
      continue
    }
    if (!claim.queue) {
      const answer = await blockedBy(desk, entry, seen, 0)
      await removeNode(entry)
      desk.forget(entry)
      return answer
    }
    const watching = watch(desk, entry, seen, place)
    const answering = blockedBy(desk, entry, seen, positionOf(seen, place))
    const [, blocked] = await both(watching, answering)
    // One who went before we were ready to be told has to be looked for.
    if (watchedBy(seen, place).every((watched) => entry.watched.has(watched))) {
      desk.wait(entry, sentAtMs + claim.ttlMs)
      return blocked
    }
  }
  return null
}

/** A claim of a named owner becomes part of the owner's hold. Null when that ended meanwhile. */
export async function join(
  desk: Desk,
  entry: Entry,
  hold: Place,
  sentAtMs: number,
): Promise<ClaimAnswer | null> {
  const session = entry.session as LockSession
  const member = hold.nodes[0] as NodeName
  const memberPath = `${entry.keyPath}/${member.name}`
  const founder = member.place?.founder ?? (await session.client.exists(memberPath))?.czxid
  if (founder === undefined) return null
  const place: PlaceName = { seq: hold.seq, founder }
  const leaving = entry.node === null ? [] : [{ kind: 'delete', path: entry.node.path } as const]
  const steps = [{ kind: 'check', path: memberPath } as const, ...leaving]
  if (!(await standAt(desk, entry, session, hold.mode, place, steps))) return null
  desk.hold(entry, 'held', sentAtMs + entry.claim.ttlMs)
  return granted(entry)
}

/**
 * The claim's node is there already: its making was not answered, or another process made it. A node of another session
 * is replaced by one of ours at the same place, because a node lives and dies with its session.
 */
export async function takeOver(
  desk: Desk,
  entry: Entry,
  { place, node }: { place: Place; node: NodeName },
  sentAtMs: number,
): Promise<ClaimAnswer | null> {
  const session = entry.session as LockSession
  const path = `${entry.keyPath}/${node.name}`
  let read: Awaited<ReturnType<LockSession['client']['getData']>>
  try {
    read = await session.client.getData(path)
  } catch (error) {
    if (isWire(error, 'NoNode')) return null
    throw error
  }
  if (nodeDataOf(read.data).closedMs !== undefined) {
    desk.forget(entry)
    return blockedBy(desk, entry, [], 0)
  }
  if (place.holds && !covers(place.mode, entry.claim.mode)) {
    desk.forget(entry)
    return refused('upgrade', 'a shared lease cannot become an exclusive one: release it first')
  }
  const at: PlaceName = node.place ?? { seq: place.seq, founder: read.stat.czxid }
  if (read.stat.ephemeralOwner === session.client.session.id) {
    desk.stand(entry, { name: node.name, path, place: at }, false)
  } else if (!(await standAt(desk, entry, session, place.mode, at, [{ kind: 'delete', path }]))) {
    return null
  }
  const line = await desk.lineAt(session.client, entry.keyPath)
  return line === null ? null : settle(desk, entry, line, sentAtMs)
}

/**
 * Asks to be told when one of those before the place goes, or changes: that is the last that a holder does, so who stands right
 * behind it knows without a look. Whoever is gone already is not among the watched afterwards.
 */
export async function watch(desk: Desk, entry: Entry, line: Line, place: Place): Promise<void> {
  const { client } = entry.session as LockSession
  const fresh = watchedBy(line, place).filter((name) => !entry.watched.has(name))
  const watching = fresh.map((name) =>
    client.attend(`${entry.keyPath}/${name}`, ({ kind }) => {
      entry.watched.delete(name)
      desk.events.left(entry, kind === 'changed')
    }),
  )
  for (const name of fresh) entry.watched.add(name)
  const outcomes = await Promise.allSettled(watching)
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') continue
    entry.watched.delete(fresh[index] as string)
    if (!isWire(outcome.reason, 'NoNode')) throw outcome.reason
  }
}
