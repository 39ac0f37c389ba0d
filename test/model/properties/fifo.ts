import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Blocked, Event } from '../../../src/model/index.ts'
import { claimOf, RULES, shared } from '../arbitraries.ts'
import { claimEvent, type Model } from '../explore.ts'
import { atEveryStep, forAll, type Topic } from '../property.ts'
import { gives } from './exclusion.ts'

const readersArrivals = fc.array(
  fc.record({ atMs: fc.integer({ min: 0, max: 60 }), ttlMs: fc.integer({ min: 1, max: 30 }) }),
  { minLength: 1, maxLength: 25 },
)

/** Readers come and hold for their ttl; a writer comes among them and keeps its position. Says when it got in, and when it had to. */
function writerAmongReaders(
  model: Model,
  readers: readonly { atMs: number; ttlMs: number }[],
  writerAtMs: number,
) {
  let state = model.EMPTY
  let dueAtMs = writerAtMs
  for (let nowMs = 0; nowMs < 200; nowMs++) {
    const send = (event: Event) => {
      const outcome = model.step(state, event, { nowMs, stampUs: nowMs * 1000 }, RULES)
      state = outcome.state
      return outcome
    }
    const { notifications } = send({ kind: 'tick' })
    if (notifications.some(({ notice }) => notice.kind === 'granted' && notice.id === 'writer'))
      return { nowMs, dueAtMs }
    for (const [place, { atMs, ttlMs }] of readers.entries()) {
      if (atMs !== nowMs) continue
      const { answer } = send(claimEvent(claimOf(`reader ${place}`, { mode: shared, ttlMs })))
      if (answer?.kind === 'granted' && nowMs <= writerAtMs) dueAtMs = Math.max(dueAtMs, nowMs + ttlMs)
    }
    if (nowMs !== writerAtMs) continue
    const { answer } = send(claimEvent(claimOf('writer', { ttlMs: 1_000 })))
    if (answer?.kind === 'granted') return { nowMs, dueAtMs }
  }
  return { nowMs: Number.POSITIVE_INFINITY, dueAtMs }
}

export const fifo: Topic = {
  'nobody is granted past a live waiter that came earlier, except into the hold of its own owner':
    atEveryStep(({ event, answer, notifications, known, learnt }) => {
      const entered = notifications.flatMap(({ notice }) => (notice.kind === 'granted' ? [notice.id] : []))
      const ownerOf = (id: string) => known.waiter(id)?.claim.owner ?? null
      if (
        event.kind === 'claim' &&
        answer?.kind === 'granted' &&
        known.holdOf(event.claim.id) === undefined
      ) {
        if (event.claim.replaces === null) entered.push(event.claim.id)
      }
      for (const id of entered) {
        const hold = learnt.holdOf(id)
        if (hold === undefined || hold.believers.length > 1) continue
        // The one whose hold it joined may have come and gone in this very step.
        const owner = ownerOf(id)
        if (owner !== null && entered.some((other) => other !== id && ownerOf(other) === owner)) continue
        const place = known.queue.findIndex((waiter) => waiter.claim.id === id)
        const before = place < 0 ? known.queue : known.queue.slice(0, place)
        const passed = before.filter((waiter) => learnt.waiter(waiter.claim.id) !== undefined)
        assert.deepEqual(
          passed.map((waiter) => waiter.claim.id),
          [],
          `${id} was granted past them`,
        )
      }
    }),

  'a blocked claim hears its true position in the queue': atEveryStep(({ event, answer, learnt }) => {
    if (event.kind !== 'claim' || answer?.kind !== 'blocked') return
    const place = learnt.queue.findIndex((waiter) => waiter.claim.id === event.claim.id)
    assert.equal((answer as Blocked).position, place + 1)
  }),

  'a claim that does not want to wait is not in the queue': atEveryStep(({ event, answer, known }) => {
    if (event.kind !== 'claim' || answer?.kind !== 'blocked' || event.claim.queue) return
    if (known.waiter(event.claim.id) === undefined) assert.equal((answer as Blocked).position, 0)
  }),

  'a named owner enters its own hold past the queue, and only with what the hold gives': atEveryStep(
    ({ event, answer, known }) => {
      if (event.kind !== 'claim' || event.claim.replaces !== null) return
      if (known.holdOf(event.claim.id) !== undefined) return
      const own = known.ownHold(event.claim)
      if (
        own === undefined ||
        (answer?.kind === 'refused' && 'reason' in answer && answer.reason !== 'upgrade')
      )
        return
      assert.equal(answer?.kind, gives(own.mode, event.claim.mode) ? 'granted' : 'refused')
    },
  ),

  'a writer waits for the readers that were there before it and for no other': forAll(
    fc.tuple(readersArrivals, fc.integer({ min: 0, max: 60 })),
    (model, [readers, writerAtMs]) => {
      const { nowMs, dueAtMs } = writerAmongReaders(model, readers, writerAtMs)
      assert.equal(nowMs, dueAtMs)
    },
  ),
}
