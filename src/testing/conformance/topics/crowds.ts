import assert from 'node:assert/strict'
import type { Claim, Mode } from '../../../model/index.ts'
import { type Check, check, ordered, permitting, sharing } from '../check.ts'
import { type ClaimChanges, grantedOf, type Party } from '../party.ts'
import { type Scene, SOON_MS, safe } from '../scene.ts'

const PARTIES = 6
const CLAIMS_EACH = 50
const LIMIT = 10
/** Longer than a process needs to join with all its claims, or to have them granted, on a busy machine. */
const TTL_MS = 5000
/** From the first renewal to the last one takes longer than a ttl. */
const RENEWALS = 4
/** The part of a crowd that is served in one turn: its holder releases, and the others leave the queue. */
const TURN = 5

interface Member {
  readonly party: Party
  readonly claim: Claim
}

export const crowds: readonly Check[] = [
  check('a crowd keeps its positions for as long as it renews them', ordered, async (scene) => {
    const { a, key, claim, crowd } = await queueUp(scene, { ttlMs: scene.ttlMs(TTL_MS) })
    await keepUp(scene, crowd, 'waiting')
    const { queue } = await a.store.admin.read(key)
    assert.equal(queue.length, crowd.length, 'every waiter of a crowd must be in the queue once')
    await a.release(claim)
    const [first, ...others] = crowd as [Member, ...Member[]]
    grantedOf(await first.party.attempt(first.claim), 'the first of a crowd must be served first')
    for (const answer of await attemptAll(others)) assert.equal(answer.kind, 'blocked', 'one holds the key')
    await releaseAll(others)
    await releaseAll([first])
    await a.take(key, {}, 'a key must be free when a whole crowd has left')
  }),

  check('a crowd is served in the order in which it came', ordered, async (scene) => {
    const { a, key, claim, crowd } = await queueUp(scene)
    await a.release(claim)
    for (let place = 0; place < crowd.length; place += TURN) {
      const turn = crowd.slice(place, place + TURN)
      const [answer, ...others] = await attemptAll(turn)
      grantedOf(answer, `number ${place + 1} of a crowd must be served when those before it are gone`)
      safe(
        others.every(({ kind }) => kind === 'blocked'),
        `number ${place + 1} of a crowd and another hold one key`,
      )
      await releaseAll(turn)
    }
    await a.take(key, {}, 'a key must be free when a whole crowd was served')
  }),

  check('a crowd of readers is let in together and keeps a writer out', sharing, async (scene) => {
    const changes = { mode: { kind: 'shared' }, ttlMs: scene.ttlMs(TTL_MS) } as const
    const { a, key, claim, crowd: readers } = await queueUp(scene, changes)
    await a.release(claim)
    await scene.eventually('a crowd of readers must be let in', SOON_MS, async () => {
      return (await attemptAll(readers)).every(({ kind }) => kind === 'granted')
    })
    await keepUp(scene, readers, 'renewed')
    const last = readers.filter(({ party }) => party === readers.at(-1)?.party)
    await releaseAll(readers.filter((reader) => !last.includes(reader)))
    await a.block(key, {}, 'a writer must wait for the last readers of a crowd')
    await releaseAll(last)
    await a.take(key, {}, 'a key must be free when a crowd of readers is gone')
  }),

  check(
    'a crowd at a semaphore is served, and never more at once than its limit',
    permitting,
    async (scene) => {
      const mode = { kind: 'permits', limit: LIMIT, weight: 1 } as const
      const { a, claim, crowd } = await queueUp(scene, { mode }, { ...mode, weight: LIMIT })
      await a.release(claim)
      let left = crowd
      while (left.length > 0) {
        // Without a promised order, any of them may be next.
        const next = scene.traits.order === 'fifo' ? left.slice(0, 2 * LIMIT) : left
        const holders = await scene.eventually(
          'a semaphore must go on serving its crowd',
          SOON_MS,
          async () => {
            const answers = await attemptAll(next)
            const granted = next.filter((_, place) => answers[place]?.kind === 'granted')
            return granted.length > 0 ? granted : null
          },
        )
        safe(holders.length <= LIMIT, `${holders.length} were inside a semaphore of ${LIMIT}`)
        await releaseAll(holders)
        left = left.filter((member) => !holders.includes(member))
      }
    },
  ),
]

/** A process that has a key, and claims of several others in the queue behind it, in the order of joining. */
async function queueUp(scene: Scene, changes: ClaimChanges = {}, mode: Mode = { kind: 'exclusive' }) {
  const a = await scene.party()
  const key = scene.key()
  const { claim } = await a.take(key, { mode })
  const crowd: Member[] = []
  for (let number = 0; number < PARTIES; number++) {
    const party = await scene.party()
    const claims = Array.from({ length: CLAIMS_EACH }, () => party.claim(key, { queue: true, ...changes }))
    for (const { kind } of await party.attemptAll(claims)) assert.equal(kind, 'blocked', 'the key is held')
    crowd.push(...claims.map((claim) => ({ party, claim })))
    // However long the others take to join, the earlier ones keep their positions.
    await together(crowd, (party, claims) => party.renewAll(claims))
  }
  return { a, key, claim, crowd: crowd as readonly Member[] }
}

/** Longer than the crowd lives without renewals. */
async function keepUp(scene: Scene, crowd: readonly Member[], kind: 'waiting' | 'renewed'): Promise<void> {
  for (let renewal = 0; renewal < RENEWALS; renewal++) {
    if (renewal > 0) await scene.sleep(TTL_MS * 0.4)
    const kinds = await together(crowd, (party, claims) => party.renewEach(claims))
    const others = kinds.filter((each) => each !== kind)
    assert.deepEqual([...new Set(others)], [], `${others.length} of ${crowd.length} were not ${kind}`)
  }
}

function attemptAll(crowd: readonly Member[]) {
  return together(crowd, (party, claims) => party.attemptEach(claims))
}

async function releaseAll(crowd: readonly Member[]): Promise<void> {
  const answers = await together(crowd, (party, claims) => party.releaseAll(claims))
  for (const { kind } of answers) assert.equal(kind, 'released', 'a claim of a crowd is there until then')
}

/** One call for each process, all at the same time. The answers come in the order of the crowd. */
async function together<A>(
  crowd: readonly Member[],
  call: (party: Party, claims: readonly Claim[]) => Promise<readonly A[]>,
): Promise<readonly A[]> {
  const parties = [...new Set(crowd.map(({ party }) => party))]
  const calls = parties.map((party) =>
    call(
      party,
      crowd.filter((member) => member.party === party).map(({ claim }) => claim),
    ),
  )
  return (await Promise.all(calls)).flat()
}
