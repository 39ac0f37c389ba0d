import { overlapsOf } from './cast/evidence.ts'
import { Scene, TTL_MS } from './cast/scene.ts'
import type { Generation } from './generations/index.ts'
import type { Address } from './places.ts'
import { type Claim, claim, type Outcome, type Scenario } from './scenario.ts'
import type { Stage } from './stage.ts'
import { crash } from './stories/crash.ts'
import { Connection } from './wire/connection.ts'

type Story = (scene: Scene, address: Address) => Promise<void>

interface Episode extends Pick<Scenario, 'name' | 'title' | 'about'> {
  readonly generation: Generation
  readonly story: Story
  readonly verdict: string
  claims(facts: Facts): readonly Claim[]
}

interface Facts {
  readonly scene: Scene
  readonly ttlOfKey: number | null
  readonly overlaps: ReturnType<typeof overlapsOf>
}

const EPISODES: readonly Episode[] = [
  {
    name: 'v1-crash',
    title: 'V1, SETNX without an expiry: the holder crashes',
    about: 'A creates the key and is killed before it deletes it. B waits.',
    generation: 'first',
    story: crash,
    claims: ({ scene: { history }, ttlOfKey }) => [
      claim(history.when('A', 'killed') !== null, 'A was killed while it had the key'),
      claim(history.when('B', 'gaveUp') !== null, `B did not get the key in ${(TTL_MS * 3) / 1_000} s`),
      claim(ttlOfKey === -1, 'the key has no expiry (PTTL -1): it stays until somebody deletes it by hand'),
    ],
    verdict: 'A lock without an expiry outlives its holder. V2 gives the key an expiry in the same command.',
  },
  {
    name: 'fenced-crash',
    title: 'Holdfast: the holder crashes',
    about: 'A takes the lock and is killed. B waits.',
    generation: 'fenced',
    story: crash,
    claims: ({ scene: { history, warehouse } }) => [
      claim(history.when('A', 'killed') !== null, 'A was killed while it had the key'),
      claim(history.when('B', 'sold') !== null, 'B got the key and sold its unit'),
      claim(warehouse.sold === 1 && warehouse.left === 9, 'the stock is exact'),
    ],
    verdict: 'A dead holder costs its ttl, no more.',
  },
]

export const EPISODE_SCENARIOS: readonly Scenario[] = EPISODES.map((episode) => ({
  ...episode,
  group: 'generations',
  run: (stage) => play(episode, stage),
}))

async function play(episode: Episode, stage: Stage): Promise<Outcome> {
  const { place } = stage
  const scene = new Scene(stage, episode.generation)
  let ttlOfKey: number | null = null
  try {
    await episode.story(scene, place.address)
    ttlOfKey = await leaveNothing(place.address, scene.key)
  } finally {
    await scene.close()
  }
  const overlaps = overlapsOf(scene.history, scene.endedAtMs)
  const claims = episode.claims({ scene, ttlOfKey, overlaps })
  const { begunWith, sold, left, refused } = scene.warehouse
  return {
    figures: [scene.timeline(episode.title)],
    claims,
    verdict: episode.verdict,
    data: { stock: { begunWith, sold, left, refused } },
  }
}

/** The rest of the key's life by the server, and then its end. */
async function leaveNothing({ url }: Address, key: string): Promise<number> {
  const connection = await Connection.open(url)
  try {
    const ttl = (await connection.call('PTTL', key)) as number
    await connection.call('DEL', key)
    return ttl
  } finally {
    connection.close()
  }
}
