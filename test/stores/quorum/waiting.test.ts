import { FakeRuntime } from 'holdfast/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { StoreNotice } from '../../../src/core/store.ts'
import type { NodeNotification, Question, Vote } from '../../../src/stores/quorum/protocol.ts'
import { QuorumStore } from '../../../src/stores/quorum/store.ts'
import { claimOf, Voter } from './voter.ts'

const NODES = 5
const claim = claimOf({ kind: 'exclusive' })

const blocked = (position: number): Vote => ({
  kind: 'blocked',
  position,
  retryAfterMs: null,
  storeTimeMs: 7,
  holder: null,
})
const waits = (position: number): Vote => ({ kind: 'waiting', position, storeTimeMs: 9 })
const lost: Vote = { kind: 'lost' }
const renewed: Vote = { kind: 'renewed', seq: 7, contended: true }

/** Five nodes that answer at once, with a claim in the queue of each, and what they hear from then on. */
async function waiter(answers: (question: Question, index: number) => Vote) {
  const runtime = new FakeRuntime()
  const heard: string[][] = Array.from({ length: NODES }, () => [])
  const listeners: ((notification: NodeNotification) => void)[] = []
  const notices: StoreNotice[] = []
  const voters = heard.map((got, index) => {
    const voter = new Voter(`node ${index}`)
    voter.send = (questions, answered) => {
      got.push(...questions.map(({ kind }) => kind))
      const votes = questions.map((question) =>
        question.kind === 'claim' ? blocked(4) : answers(question, index),
      )
      runtime.defer(() => answered({ stampUs: 1, votes }))
    }
    voter.listen = (_inbox, listener) => {
      listeners[index] = listener
      return Promise.resolve()
    }
    return voter
  })
  const store = new QuorumStore(voters, runtime, () => 500)
  store.notices((notice) => notices.push(notice))
  onTestFinished(() => runtime.until(store.close()))
  expect(await runtime.until(store.attempt([claim]))).toMatchObject([{ kind: 'blocked', position: 4 }])
  await runtime.advance(1)
  const asked = heard.map((got) => got.splice(0))
  const call = (index: number) => listeners[index]?.({ kind: 'free', id: claim.id, key: claim.key })
  return { runtime, store, heard, notices, asked, call, renew: () => runtime.until(store.renew([claim])) }
}

describe('a waiter', () => {
  test('that is blocked everywhere costs one question to each node', async () => {
    const { asked } = await waiter(() => lost)
    expect(asked).toEqual(Array(NODES).fill(['claim']))
  })

  test('is renewed by one question to each node, and told the middle one of its positions', async () => {
    const { renew, heard } = await waiter((_, index) => waits([9, 1, 4, 5, 4][index] as number))
    // The middle one of the first three answers, which are a majority.
    expect(await renew()).toEqual([{ kind: 'waiting', position: 4, storeTimeMs: 9 }])
    expect(heard).toEqual(Array(NODES).fill(['renew']))
  })

  test('gets its position back at nodes that have lost it', async () => {
    const { renew, heard, runtime } = await waiter(({ kind }, index) =>
      kind === 'renew' && index >= 3 ? lost : waits(2),
    )
    expect(await renew()).toMatchObject([{ kind: 'waiting' }])
    await runtime.advance(1)
    expect(heard).toEqual([['renew'], ['renew'], ['renew'], ['renew', 'join'], ['renew', 'join']])
  })

  test('that most nodes have lost is lost, and gets nothing back', async () => {
    const { renew, heard, runtime } = await waiter((_, index) => (index < 3 ? lost : waits(2)))
    expect(await renew()).toEqual([{ kind: 'lost' }])
    await runtime.advance(1)
    expect(heard).toEqual(Array(NODES).fill(['renew']))
  })

  test('gives back a vote that nobody counts, and goes on waiting', async () => {
    const { renew, heard, runtime } = await waiter(({ kind }, index) =>
      kind === 'release' ? { kind: 'released' } : index === 0 ? renewed : waits(1),
    )
    expect(await renew()).toMatchObject([{ kind: 'waiting', position: 1 }])
    await runtime.advance(1)
    expect(heard[0]).toEqual(['renew', 'release'])
    expect(heard[1]).toEqual(['renew'])
  })

  test('that has the votes of a majority hears that it holds', async () => {
    const { renew } = await waiter((_, index) => (index < 3 ? renewed : waits(1)))
    expect(await renew()).toMatchObject([{ kind: 'renewed' }])
  })

  test('is told to retry once a majority of the nodes calls it, and not before', async () => {
    const { call, notices, runtime } = await waiter(() => lost)
    call(0)
    call(1)
    await runtime.advance(1)
    expect(notices).toEqual([])
    call(2)
    expect(notices).toEqual([{ kind: 'retry', id: claim.id, key: claim.key }])
  })

  test('is told to retry a moment later when too few nodes call it', async () => {
    const { call, notices, runtime } = await waiter(() => lost)
    call(0)
    await runtime.advance(25)
    expect(notices).toEqual([{ kind: 'retry', id: claim.id, key: claim.key }])
  })
})
