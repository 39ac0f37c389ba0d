import { describe, expect, test } from 'vitest'
import { nodeRuntime } from '../../../src/core/runtime.ts'
import type { Claim, Mode } from '../../../src/model/index.ts'
import type { Vote } from '../../../src/stores/quorum/protocol.ts'
import { QuorumStore } from '../../../src/stores/quorum/store.ts'
import { majorityOf, verdictOf, votesNeeded } from '../../../src/stores/quorum/tally.ts'
import { addressesOf } from '../../../src/stores/quorum/url.ts'
import { claimOf, granted, Voter } from './voter.ts'

const refused: Vote = { kind: 'refused', reason: 'mode', message: 'in use as a lock' }

describe('a refusal', () => {
  const permits: Mode = { kind: 'permits', limit: 3, weight: 1 }

  test('counts when a majority says it, in whatever order the votes come', async () => {
    for (const order of [
      [refused, granted, refused],
      [granted, refused, refused],
      [refused, refused, granted],
    ]) {
      const voters = ['a', 'b', 'c'].map((name) => new Voter(name))
      const store = new QuorumStore(voters, nodeRuntime, () => 5000)
      const answer = store.attempt([claimOf(permits)])
      for (const [place, vote] of order.entries()) await voters[place]?.votes(vote)
      expect((await answer)[0]).toEqual(refused)
      await store.close()
    }
  })

  test('of a minority is a vote that may be repeated', async () => {
    const voters = ['a', 'b', 'c'].map((name) => new Voter(name))
    const store = new QuorumStore(voters, nodeRuntime, () => 5000)
    const answer = store.attempt([claimOf(permits)])
    await voters[0]?.votes(refused)
    await voters[1]?.votes(granted)
    await voters[2]?.votes({ kind: 'granted', seq: 7, contended: false })
    expect((await answer)[0]?.kind).toBe('blocked')
    await store.close()
  })
})

describe('a claim that waits for the nodes', () => {
  test('is not overtaken by its own release', async () => {
    let identify = (_name: string): void => {}
    const identity = new Promise<string>((resolve) => {
      identify = resolve
    })
    const voters = ['a', 'b', 'c'].map((name) => new Voter(name))
    for (const voter of voters) voter.identify = () => identity.then((text) => text + voter.name)
    const store = new QuorumStore(voters, nodeRuntime, () => 5000)
    const claim = claimOf({ kind: 'exclusive' })
    const answer = store.attempt([claim])
    const released = store.release([claim])
    identify('server ')
    for (const voter of voters) await voter.votes(granted)
    await answer
    await released
    await store.close()
    for (const { heard } of voters) expect(heard.map(({ kind }) => kind)).toEqual(['claim', 'release'])
  })

  test('is not sent any more once the store is closed', async () => {
    const voters = ['a', 'b', 'c'].map((name) => new Voter(name))
    for (const voter of voters) voter.identify = () => new Promise(() => {})
    const store = new QuorumStore(voters, nodeRuntime, () => 5000)
    const answer = store.attempt([claimOf({ kind: 'exclusive' })])
    const closed = store.close()
    await expect(answer).rejects.toMatchObject({ code: 'CLOSED' })
    await closed
    expect(voters.flatMap(({ heard }) => heard)).toEqual([])
  })
})

describe('a renewal', () => {
  test.each(['before', 'after'])('of a claim that a node lost %s the release', async (when) => {
    const voters = ['a', 'b', 'c'].map((name) => new Voter(name))
    let tell = (_vote: Vote): void => {}
    for (const [place, voter] of voters.entries()) {
      voter.send = async (questions, answered) => {
        voter.heard.push(...questions)
        const renewed: Vote = { kind: 'renewed', seq: 7, contended: false }
        const late = new Promise<Vote>((resolve) => {
          if (place === 2 && questions[0]?.kind === 'renew') tell = resolve
          else resolve(renewed)
        })
        answered({ stampUs: 1, votes: [await late] })
      }
    }
    const store = new QuorumStore(voters, nodeRuntime, () => 5000)
    const claim = claimOf({ kind: 'exclusive' })
    expect(await store.renew([claim])).toEqual([{ kind: 'renewed', contended: false }])
    if (when === 'after') await store.release([claim])
    tell({ kind: 'lost' })
    await new Promise(setImmediate)
    await store.close()
    const expected = when === 'after' ? ['renew', 'release'] : ['renew', 'claim']
    expect(voters[2]?.heard.map(({ kind }) => kind)).toEqual(expected)
  })
})

describe('a downgrade', () => {
  const downgrade: Claim = { ...claimOf({ kind: 'shared' }), queue: false, replaces: 'c' }
  const absent: Vote = { kind: 'refused', reason: 'absent', message: 'gone' }

  test('that lacks votes is unknown, and takes nothing back', async () => {
    const voters = ['a', 'b', 'c'].map((name) => new Voter(name))
    const store = new QuorumStore(voters, nodeRuntime, () => 50)
    const answer = store.attempt([downgrade])
    await voters[0]?.votes(granted)
    await voters[1]?.votes(absent)
    await expect(answer).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    for (const { heard } of voters) expect(heard.map(({ kind }) => kind)).toEqual(['claim'])
    await store.close()
  })

  test('of a hold that most nodes do not have is refused', async () => {
    const voters = ['a', 'b', 'c'].map((name) => new Voter(name))
    const store = new QuorumStore(voters, nodeRuntime, () => 5000)
    const answer = store.attempt([downgrade])
    await voters[0]?.votes(absent)
    await voters[1]?.votes(absent)
    expect((await answer)[0]).toMatchObject({ kind: 'refused', reason: 'absent' })
    await store.close()
  })
})

describe('a vote that is not enough', () => {
  test('is taken back at every node that may have given it, also at one that has not answered', async () => {
    const voters = ['a', 'b', 'c'].map((name) => new Voter(name))
    const store = new QuorumStore(voters, nodeRuntime, () => 5000)
    const blocked: Vote = {
      kind: 'blocked',
      position: 1,
      retryAfterMs: null,
      storeTimeMs: 1,
      holder: null,
    }
    const answer = store.attempt([claimOf({ kind: 'permits', limit: 3, weight: 1 })])
    await voters[0]?.votes(granted)
    await voters[1]?.votes(blocked)
    expect((await answer)[0]?.kind).toBe('blocked')
    await new Promise(setImmediate)
    const asked = voters.map(({ heard }) => heard.map(({ kind }) => kind))
    expect(asked).toEqual([['claim', 'release'], ['claim'], ['claim', 'release']])
    await store.close()
  })
})

describe('the tally', () => {
  test('settles every vector of votes, and not before it must', () => {
    for (const nodes of [1, 2, 3, 4, 5, 7]) {
      const needed = majorityOf(nodes)
      for (let yes = 0; yes <= nodes; yes++)
        for (let no = 0; yes + no <= nodes; no++)
          for (let failed = 0; yes + no + failed <= nodes; failed++) {
            const open = nodes - yes - no - failed
            const verdict = verdictOf({ nodes, needed, yes, no, failed })
            expect(verdict === 'met').toBe(yes >= needed)
            expect(verdict === 'hopeless').toBe(yes + open < needed)
            if (open === 0) expect(verdict).not.toBe('possible')
          }
    }
  })

  test('an even split is hopeless at once', () => {
    expect(verdictOf({ nodes: 4, needed: majorityOf(4), yes: 2, no: 2, failed: 0 })).toBe('hopeless')
  })

  test('a semaphore needs so many votes that one permit too many cannot get them', () => {
    for (const nodes of [3, 5, 7])
      for (let limit = 1; limit <= 20; limit++) {
        const needed = votesNeeded({ kind: 'permits', limit, weight: 1 }, nodes)
        expect((limit + 1) * needed).toBeGreaterThan(nodes * limit)
        expect((limit + 1) * (needed - 1)).toBeLessThanOrEqual(nodes * limit)
        expect(needed).toBeLessThanOrEqual(nodes)
      }
  })
})

describe('a redlock URL', () => {
  test('gives every server the credentials, the database and TLS', () => {
    expect(addressesOf('redlock://u:p%40@h1,h2:7000,h3/2?tls=true')).toEqual([
      { url: 'rediss://u:p%40@h1/2', name: 'h1:6379' },
      { url: 'rediss://u:p%40@h2:7000/2', name: 'h2:7000' },
      { url: 'rediss://u:p%40@h3/2', name: 'h3:6379' },
    ])
  })

  test.each([
    ['redlock://', /names no host|must name hosts/],
    ['redlock://h1,,h3', /host/],
    ['redlock://h1,h1:6379,h2', /names h1:6379 twice/],
    ['redlock://h1,h2,h3?tls=maybe', /tls=true/],
    ['redlock://u:geheim@h1:port,h2', /must name hosts/],
  ])('%s is refused, without its password', (url, problem) => {
    let message = ''
    try {
      addressesOf(url)
    } catch (error) {
      message = (error as Error).message
    }
    expect(message).toMatch(problem)
    expect(message).not.toContain('geheim')
  })
})
