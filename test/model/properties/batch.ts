import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Claim, KeyState } from '../../../src/model/index.ts'
import { claimOf, RULES, shared } from '../arbitraries.ts'
import type { Model } from '../explore.ts'
import { forAll, type Topic } from '../property.ts'

const KEYS = ['k1', 'k2', 'k3']

const wish = fc.record({
  key: fc.constantFrom(...KEYS),
  reads: fc.boolean(),
  queue: fc.boolean(),
  ttlMs: fc.constantFrom(5, 20),
})
/** A wish alone, or several that must come true together. */
const bundle = fc.record({ together: fc.boolean(), wishes: fc.array(wish, { minLength: 1, maxLength: 3 }) })
const batches = fc.array(
  fc.record({ waitMs: fc.nat({ max: 8 }), bundles: fc.array(bundle, { maxLength: 3 }) }),
  {
    minLength: 1,
    maxLength: 12,
  },
)

type Batches = typeof batches extends fc.Arbitrary<infer T> ? T : never

/** Sends the batches one after another and shows each, with the shelf before and after it. */
function sendAll(model: Model, value: Batches, look: (sent: Sent) => void): void {
  const shelf = new Map<string, KeyState>()
  let nowMs = 0
  for (const [round, { waitMs, bundles }] of value.entries()) {
    nowMs += waitMs
    const claims = bundles.flatMap(({ together, wishes }, number) =>
      wishes.map(({ key, reads, queue, ttlMs }, place) => {
        const group = together ? `group ${number}` : null
        return claimOf(`${key} ${round}.${number}.${place}`, {
          key,
          queue,
          ttlMs,
          group,
          ...(reads ? { mode: shared } : {}),
        })
      }),
    )
    const before = new Map(shelf)
    const get = (key: string) => shelf.get(key) ?? model.EMPTY
    const put = (key: string, state: KeyState) => void shelf.set(key, state)
    const outcome = model.claimBatch({ get, put }, claims, 'inbox', { nowMs, stampUs: nowMs * 1000 }, RULES)
    look({ claims, before, shelf, ...outcome })
  }
}

type Sent = ReturnType<Model['claimBatch']> & {
  readonly claims: readonly Claim[]
  readonly before: ReadonlyMap<string, KeyState>
  readonly shelf: ReadonlyMap<string, KeyState>
}

function holds({ shelf }: Sent, { key, id }: Claim): boolean {
  return shelf.get(key)?.holds.some((hold) => hold.members.some((member) => member.id === id)) ?? false
}

function waits({ shelf }: Sent, { key, id }: Claim): boolean {
  return shelf.get(key)?.queue.some((waiter) => waiter.claim.id === id) ?? false
}

export const batch: Topic = {
  'every claim of a batch has its answer, and the answer is true': forAll(batches, (model, value) =>
    sendAll(model, value, (sent) => {
      assert.equal(sent.answers.length, sent.claims.length)
      for (const [place, claim] of sent.claims.entries()) {
        const answer = sent.answers[place]
        assert.equal(holds(sent, claim), answer?.kind === 'granted', `${claim.id} was told ${answer?.kind}`)
        assert.equal(waits(sent, claim), answer?.kind === 'blocked' && answer.position > 0)
      }
    }),
  ),

  'claims of a group are granted all or none, and none of them waits': forAll(batches, (model, value) =>
    sendAll(model, value, (sent) => {
      for (const group of new Set(sent.claims.map((claim) => claim.group))) {
        if (group === null) continue
        const members = sent.claims.filter((claim) => claim.group === group)
        const granted = members.filter((claim) => holds(sent, claim))
        assert(
          granted.length === 0 || granted.length === members.length,
          `${granted.length} of ${members.length}`,
        )
        for (const claim of members) assert(!waits(sent, claim), `${claim.id} waits`)
      }
    }),
  ),

  'a batch that grants nothing and queues nothing leaves nothing behind': forAll(batches, (model, value) =>
    sendAll(model, value, (sent) => {
      if (sent.claims.some((claim) => claim.group === null)) return
      if (sent.answers.some((answer) => answer.kind === 'granted')) return
      assert.deepEqual(sent.shelf, sent.before)
      assert.deepEqual(sent.notifications, [])
    }),
  ),

  'notifications of a batch name the key they are about': forAll(batches, (model, value) =>
    sendAll(model, value, (sent) => {
      for (const { key, notice } of sent.notifications) assert.equal(notice.id.slice(0, key.length), key)
    }),
  ),
}
