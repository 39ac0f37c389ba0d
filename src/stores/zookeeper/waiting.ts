import { spareOf, tokenFrom } from './answers.ts'
import type { Desk } from './desk.ts'
import type { Entry, OwnNode } from './entry.ts'
import type { LockSession } from './sessions.ts'
import { settle } from './settle.ts'

/** A grant that nobody asked for in this very moment is an offer, and lives for that long unless it is confirmed. */
const OFFER_MS = 1000

/** Somebody before a waiting claim has left, or may have: looks at the line again, unless it `held` the key. */
export function advance(desk: Desk, entry: Entry, held: boolean): void {
  if (entry.phase !== 'waiting') return
  // What fails here is made up for when the connection is back, and by the claim that is sent again.
  entry.inTurn(() => advanceNow(desk, entry, held)).catch(() => {})
}

async function advanceNow(desk: Desk, entry: Entry, held: boolean): Promise<void> {
  const session = entry.session as LockSession
  if (entry.phase !== 'waiting' || !session.isUsable) return
  const sentAtMs = desk.runtime.nowMs()
  if (sentAtMs >= entry.deadlineMs) return
  const { deadlineMs } = entry
  // Those before a place can only go, so an old line can say that it holds only when it does, if its node is there.
  const proven = entry.provenUntilMs >= sentAtMs + OFFER_MS
  if (held && proven && followsAlone(entry)) {
    // Who came behind us since then is not known; where there was a line there is one, most likely.
    entry.contended = true
    offer(desk, entry, sentAtMs)
    return
  }
  const line = await (proven ? desk.lineAt(session.client, entry.keyPath) : desk.look(session, entry.keyPath))
  const answer = line === null ? null : await settle(desk, entry, line, sentAtMs)
  if (answer === null) {
    desk.lose(entry, 'evicted')
    return
  }
  if (answer.kind === 'granted') offer(desk, entry, sentAtMs)
  // To be told is not to ask: the place lives as long as its claimant said.
  else if (entry.phase === 'waiting') entry.deadlineMs = deadlineMs
}

/** Whether a claim waits for one other only: for permits and for a named owner there are several ways to come to hold. */
function followsAlone({ claim: { mode, owner } }: Entry): boolean {
  return mode.kind !== 'permits' && owner === null
}

function offer(desk: Desk, entry: Entry, sentAtMs: number): void {
  const lifeMs = Math.min(entry.claim.ttlMs, OFFER_MS)
  desk.hold(entry, 'offered', sentAtMs + lifeMs)
  tellGranted(desk, entry, sentAtMs, lifeMs)
}

export function tellGranted(desk: Desk, entry: Entry, sentAtMs: number, lifeMs: number): void {
  const { key, id, owner } = entry.claim
  desk.tell({
    kind: 'granted',
    key,
    id,
    token: tokenFrom((entry.node as OwnNode).place.founder),
    spare: spareOf(owner),
    contended: entry.contended,
    storeTimeMs: sentAtMs,
    lifeMs,
  })
}
