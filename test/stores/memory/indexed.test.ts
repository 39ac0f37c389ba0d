import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as model from '../../../src/model/index.ts'
import { type Clock, EMPTY, type Event, fullStep, indexedStep, type Rules } from '../../../src/model/index.ts'
import { IndexedKey } from '../../../src/stores/memory/indexed-key.ts'
import { plan, RULES } from '../../model/arbitraries.ts'
import { explore } from '../../model/explore.ts'
import { comparable } from '../positions.ts'
import { crowdedPlan } from './crowds.ts'

const RUNS = Number(process.env.FC_RUNS ?? 300)

/** The index beside the model: every event happens to both. */
class Pair {
  private state = EMPTY
  private readonly index = new IndexedKey(EMPTY)

  play(event: Event, clock: Clock, rules: Rules): void {
    const { answer, notifications, state } = fullStep(this.state, event, clock, rules)
    // An undone step must leave nothing behind, wherever in the story it happened.
    this.index.begin()
    indexedStep(this.index, event, clock, rules)
    this.index.undo()
    const outcome = indexedStep(this.index, event, clock, rules)
    const got = { ...outcome, answer: comparable(outcome.answer, answer), state: this.index.state('k') }
    const wanted = { answer, notifications, state }
    // Much cheaper than `toEqual`, which shows the difference.
    if (!isDeepStrictEqual(got, wanted)) expect(got).toEqual(wanted)
    this.state = state
  }
}

test('an index answers, tells and keeps what the model does', () => {
  fc.assert(
    fc.property(plan, (moves) => {
      const pair = new Pair()
      explore(model, moves, ({ event, clock }) => pair.play(event, clock, RULES))
    }),
    { numRuns: RUNS, endOnFailure: true },
  )
}, 120_000)

test('and so it does with two hundred waiters, of owners and without, in portions and at once', () => {
  fc.assert(
    fc.property(crowdedPlan, ({ events, rules }) => {
      const pair = new Pair()
      for (const { event, clock } of events) pair.play(event, clock, rules)
    }),
    { numRuns: Math.max(20, RUNS / 15), endOnFailure: true },
  )
}, 120_000)
