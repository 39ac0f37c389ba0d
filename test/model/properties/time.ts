import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Blocked, KeyState } from '../../../src/model/index.ts'
import { plan, RULES } from '../arbitraries.ts'
import { claimEvent, explore, type Model, type Sight } from '../explore.ts'
import { forAll, type Property, type Topic } from '../property.ts'

const planAndShare = fc.tuple(plan, fc.constantFrom(0, 0.25, 0.5, 0.75, 0.9999))

/** Looks from every step of a plan at a later moment, picked between now and the time that the step names. */
function atSomeMoment(look: (sight: Sight, model: Model, share: number) => void): Property {
  return forAll(planAndShare, (model, [value, share]) =>
    explore(model, value, (sight) => look(sight, model, share)),
  )
}

function tick(model: Model, state: KeyState, nowMs: number) {
  return model.step(state, { kind: 'tick' }, { nowMs, stampUs: nowMs * 1000 }, RULES)
}

export const time: Topic = {
  'until the next change, looking changes nothing and tells nobody': atSomeMoment(
    ({ state, clock }, model, share) => {
      const changeMs = model.nextChangeMs(state, clock.nowMs)
      const spanMs = (changeMs ?? clock.nowMs + 10_000) - clock.nowMs
      const outcome = tick(model, state, clock.nowMs + Math.floor(spanMs * share))
      assert.deepEqual(outcome.state, state)
      assert.deepEqual(outcome.notifications, [])
    },
  ),

  'the next change is one: a hold, a place or the lock delay ends then': atSomeMoment(
    ({ state, clock }, model) => {
      const changeMs = model.nextChangeMs(state, clock.nowMs)
      if (changeMs === null) {
        assert.deepEqual([state.holds, state.queue], [[], []])
        assert(state.closedUntilMs <= clock.nowMs)
        return
      }
      assert(changeMs > clock.nowMs, 'what is due already was not done')
      const then = tick(model, state, changeMs)
      const opens = state.closedUntilMs === changeMs
      assert(opens || JSON.stringify(then.state) !== JSON.stringify(state), 'nothing changed')
    },
  ),

  'a blocked claim is not granted by time alone before it is told to look again': atSomeMoment(
    ({ event, answer, state, clock }, model, share) => {
      if (event.kind !== 'claim' || answer?.kind !== 'blocked') return
      const { retryAfterMs } = answer as Blocked
      assert(retryAfterMs !== null && retryAfterMs > 0, `look again after ${retryAfterMs}`)
      const nowMs = clock.nowMs + Math.floor(retryAfterMs * share)
      // Its own place must not run out meanwhile: a live waiter renews it.
      const kept = model.step(
        state,
        { kind: 'renew', id: event.claim.id, ttlMs: 100_000 },
        clock,
        RULES,
      ).state
      const again = model.step(kept, claimEvent(event.claim), { nowMs, stampUs: nowMs * 1000 }, RULES)
      assert.equal(again.answer.kind, 'blocked')
    },
  ),

  'when a state can be forgotten, nothing is left in it and nobody is owed anything': atSomeMoment(
    ({ state }, model) => {
      const atMs = model.forgetAtMs(state)
      assert.equal(model.isForgettable(state, atMs - 1), false)
      assert.equal(model.isForgettable(state, atMs), true)
      const then = tick(model, state, atMs)
      assert.deepEqual([then.state.holds, then.state.queue], [[], []])
      assert(then.state.closedUntilMs <= atMs)
      assert(then.notifications.every(({ notice }) => notice.kind === 'lost'))
      assert.equal(model.isForgettable(then.state, atMs), true)
      assert.equal(model.nextChangeMs(then.state, atMs), null)
    },
  ),

  'the last token is kept for its time after the last grant, whatever else is over': atSomeMoment(
    ({ known, learnt, state, clock }, model) => {
      if (learnt.tokens.length === known.tokens.length) return
      assert(model.forgetAtMs(state) >= clock.nowMs + RULES.keepSeqMs)
    },
  ),

  'when everybody let go, only the token is left': forAll(plan, (model, value) => {
    let last: Sight | undefined
    explore(model, value, (sight) => {
      last = sight
    })
    if (last === undefined) return
    let { state } = last
    for (const id of 'abcdefmn') state = model.step(state, { kind: 'release', id }, last.clock, RULES).state
    const { seq, seqKeptUntilMs, closedUntilMs } = state
    assert.deepEqual(state, { ...model.EMPTY, seq, seqKeptUntilMs, closedUntilMs })
  }),
}
