import { FakeRuntime } from 'holdfast/testing'
import { expect, onTestFinished, test } from 'vitest'
import type { Vote } from '../../../src/stores/quorum/protocol.ts'
import { QuorumStore } from '../../../src/stores/quorum/store.ts'
import { claimOf, granted, Voter } from './voter.ts'

test('a release goes to every node at once', async () => {
  const calls: string[][] = Array.from({ length: 5 }, () => [])
  const runtime = new FakeRuntime()
  const voters = calls.map((got, index) => {
    const voter = new Voter(`node ${index}`)
    voter.send = (questions, answered) => {
      got.push(questions.map(({ kind }) => kind).join(' and '))
      const votes = questions.map(({ kind }): Vote => (kind === 'claim' ? granted : { kind: 'released' }))
      runtime.defer(() => answered({ stampUs: 1, votes }))
    }
    return voter
  })
  const store = new QuorumStore(voters, runtime, () => 5000)
  onTestFinished(() => runtime.until(store.close()))
  const claim = claimOf({ kind: 'exclusive' })
  expect(await runtime.until(store.attempt([claim]))).toMatchObject([{ kind: 'granted' }])
  for (const got of calls) got.splice(0)
  expect(await runtime.until(store.release([claim]))).toEqual([{ kind: 'released' }])
  expect(calls).toEqual(Array(5).fill(['release']))
})
