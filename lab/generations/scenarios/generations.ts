import type { Stage } from '../context.ts'
import type { ServerAddress } from '../environments.ts'
import { Trial } from '../processes/scene.ts'
import type { Scenario, ScenarioOutcome } from '../scenario.ts'
import { crash } from '../stories/crash.ts'
import { EPISODES, type Episode, type StoryName } from '../stories/episodes.ts'
import { StoryFacts } from '../stories/facts.ts'
import { failover } from '../stories/failover.ts'
import { gap } from '../stories/gap.ts'
import { minority } from '../stories/minority.ts'
import { pause } from '../stories/pause.ts'
import { slow } from '../stories/slow.ts'
import { WireConnection } from '../wire/connection.ts'

type OneServer = Exclude<StoryName, 'failover' | 'minority'>

const STORIES: Record<OneServer, (scene: Trial, address: ServerAddress) => Promise<void>> = {
  crash,
  slow,
  gap,
  pause,
}

/** Each generation of the lock in the fault that breaks it, and the next one in the same. */
export const GENERATIONS: readonly Scenario[] = EPISODES.map((episode) => ({
  ...episode,
  group: 'generations',
  breaksServers: episode.story === 'failover',
  onlyReal: episode.story === 'minority',
  run: (stage) => play(episode, stage),
}))

async function play(episode: Episode, stage: Stage): Promise<ScenarioOutcome> {
  const { generation, story, title, verdict } = episode
  const scene = new Trial(stage, generation)
  const lifeLeftMs = await playOut(story, scene, stage)
  const facts = new StoryFacts(scene, lifeLeftMs)
  return { figures: [scene.timeline(title)], claims: episode.claims(facts), verdict, data: facts.data }
}

/** Returns how long the key would have lived on. */
async function playOut(story: StoryName, scene: Trial, { place }: Stage): Promise<number> {
  if (story === 'failover') {
    const pair = await place.pair()
    return await playOn(scene, pair.replica, () => failover(scene, pair), pair.close)
  }
  if (story === 'minority') {
    const trio = await place.trio()
    return await playOn(scene, trio.address, () => minority(scene, trio), trio.close)
  }
  return await playOn(scene, place.address, () => STORIES[story](scene, place.address))
}

async function playOn(
  scene: Trial,
  address: ServerAddress,
  story: () => Promise<void>,
  end: () => Promise<void> = async () => {},
): Promise<number> {
  try {
    await story()
    return await lifeOf(address, scene.key)
  } finally {
    await scene.close()
    await end()
  }
}

async function lifeOf({ url }: ServerAddress, key: string): Promise<number> {
  const connection = await WireConnection.open(url)
  try {
    return (await connection.call('PTTL', key)) as number
  } finally {
    connection.close()
  }
}
