import { FakeRuntime } from 'holdfast/testing'
import { expect, onTestFinished, test } from 'vitest'
import type { NodeNotification, Vote } from '../../../src/stores/quorum/protocol.ts'
import { QuorumStore } from '../../../src/stores/quorum/store.ts'
import { claimOf, granted, Voter } from './voter.ts'

/** Nodes that answer at once, the calls that each got, and a hold of theirs; the claim is answered with `vote`. */
async function held(vote: Vote, nodes = 5) {
  const calls: string[][] = Array.from({ length: nodes }, () => [])
  const runtime = new FakeRuntime()
  let call = (_notification: NodeNotification): void => {}
  const voters = calls.map((got, place) => {
    const voter = new Voter(`node ${place}`)
    voter.send = (questions, answered) => {
      got.push(questions.map(({ kind }) => kind).join(' and '))
      const votes = questions.map(({ kind }): Vote => (kind === 'claim' ? vote : { kind: 'released' }))
      runtime.defer(() => answered({ stampUs: 1, votes }))
    }
    voter.listen = (_inbox, listener) => {
      if (place === 0) call = listener
      return Promise.resolve()
    }
    return voter
  })
  const store = new QuorumStore(voters, runtime, () => 5000)
  onTestFinished(() => runtime.until(store.close()))
  const claim = claimOf({ kind: 'exclusive' })
  expect(await runtime.until(store.attempt([claim]))).toMatchObject([{ kind: 'granted' }])
  for (const got of calls) got.splice(0)
  return { calls, runtime, store, claim, call: (told: NodeNotification) => call(told) }
}

test('a release reaches a majority at once, and the others with what they are asked next', async () => {
  const { calls, runtime, store, claim } = await held(granted)
  expect(await runtime.until(store.release([claim]))).toEqual([{ kind: 'released' }])
  expect(calls).toEqual([['release'], ['release'], ['release'], [], []])
  await runtime.until(store.attempt([{ ...claim, id: 'next' }]))
  expect(calls.slice(2)).toEqual([['release', 'claim'], ['release and claim'], ['release and claim']])
})

test('a release reaches everybody a moment later when nothing else is asked', async () => {
  const { calls, runtime, store, claim } = await held(granted)
  await runtime.until(store.release([claim]))
  await runtime.advance(3)
  expect(calls).toEqual(Array(5).fill(['release']))
})

test('a release is still sent when the store is closed', async () => {
  const { calls, runtime, store, claim } = await held(granted)
  await runtime.until(store.release([claim]))
  await runtime.until(store.close())
  expect(calls).toEqual(Array(5).fill(['release']))
})

test('a release reaches everybody at once when somebody waits for the key', async () => {
  const wanted = await held({ ...granted, contended: true })
  await wanted.runtime.until(wanted.store.release([wanted.claim]))
  expect(wanted.calls).toEqual(Array(5).fill(['release']))
  const told = await held(granted)
  told.call({ kind: 'contended', id: told.claim.id, key: 'k' })
  await told.runtime.until(told.store.release([told.claim]))
  expect(told.calls).toEqual(Array(5).fill(['release']))
})
