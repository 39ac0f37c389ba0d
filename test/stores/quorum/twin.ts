import assert from 'node:assert/strict'
import type { Redis } from 'ioredis'
import type { Clock, Mode } from '../../../src/model/index.ts'
import {
  type AddressedNotification,
  capacityTaken,
  type NodeState,
} from '../../../src/stores/quorum/node-model/state.ts'
import type { Question, Vote } from '../../../src/stores/quorum/protocol.ts'
import { argumentsOf, ballotsOf, parseNodeNotification } from '../../../src/stores/quorum/redis/codec.ts'
import { quorumName } from '../../../src/stores/quorum/redis/names.ts'
import { nodeStateOf, type RawNode } from '../../../src/stores/quorum/redis/state.ts'
import { SCRIPTS } from '../../../src/stores/quorum/scripts.generated.ts'
import { type Call, load, perform, scriptOf, staged } from '../redis/staged.ts'

/** An event at a node: questions that come together, or an operator. */
export type Happening =
  | { readonly kind: 'ask'; readonly questions: readonly Question[] }
  | { readonly kind: 'evict'; readonly key: string; readonly ids: readonly string[]; readonly ask: boolean }

export interface Effect {
  readonly votes: readonly Vote[]
  readonly notifications: readonly AddressedNotification[]
  readonly states: readonly NodeState[]
}

const TEST_SCRIPTS = {
  ask: staged('ask', SCRIPTS.ask),
  evict: staged('evict', SCRIPTS.evict),
}

/** Everything that a server stores for some keys, also parts that read.lua would not find. */
const WHOLE = scriptOf(`local answers = { 0 }
for index, name in ipairs(KEYS) do
  local function part(what) return (string.gsub(name, '^holdfast:quorum', '%0-' .. what, 1)) end
  local function all(what) return redis.call('ZRANGE', part(what), 0, -1, 'WITHSCORES') end
  local hash = redis.call('HGETALL', name)
  answers[index + 1] = { '0', hash, all('holders'), all('queue'), all('called'), all('deadlines') }
end
return answers`)

/** The server's side of a comparison. Happenings are sent in one pipeline and answered together. */
export class Twin {
  private readonly redis: Redis

  constructor(redis: Redis) {
    this.redis = redis
  }

  load(): Promise<void> {
    return load(this.redis, [...Object.values(TEST_SCRIPTS), WHOLE])
  }

  async play(
    moments: readonly { happening: Happening; clock: Clock }[],
    keys: readonly string[],
  ): Promise<Effect[]> {
    const calls = moments.map(({ happening, clock }) => ({ ...commandOf(happening), clock }))
    const outcomes = await perform<RawNode>(this.redis, calls, WHOLE, keys.map(quorumName))
    return outcomes.map(({ reply, notifications, states }, place) => ({
      votes: votesOf((moments[place] as { happening: Happening }).happening, reply),
      notifications: notifications.map(notificationOf),
      states: states.map((raw, index) => {
        const state = nodeStateOf(keys[index] as string, raw)
        checkCounts(raw, state)
        return state
      }),
    }))
  }
}

function commandOf(happening: Happening): Omit<Call, 'clock'> {
  if (happening.kind === 'ask') {
    const { questions } = happening
    const names = questions.map(({ claim }) => quorumName(claim.key))
    return { script: TEST_SCRIPTS.ask, names, args: questions.flatMap(argumentsOf) }
  }
  const { key, ids, ask } = happening
  const args = [ask ? 'ask' : 'evict', ...ids]
  return { script: TEST_SCRIPTS.evict, names: [quorumName(key)], args }
}

function votesOf(happening: Happening, answered: unknown): Vote[] {
  if (happening.kind === 'evict') return []
  return ballotsOf(happening.questions, answered).votes.map((vote) => {
    assert.ok(!(vote instanceof Error), 'a state that the script does not know')
    return vote
  })
}

/** The counts of the hash match the sorted sets. */
function checkCounts([, hash]: RawNode, { holds, queue }: NodeState): void {
  const count = (name: string): number => {
    const at = hash.findIndex((text, place) => place % 2 === 0 && text === name)
    return at < 0 ? 0 : Number(hash[at + 1])
  }
  const sum = (modes: readonly Mode[]): number => modes.reduce((all, mode) => all + capacityTaken(mode), 0)
  assert.equal(count('used'), sum(holds.map(({ mode }) => mode)), 'used')
  assert.equal(
    count('reserved'),
    sum(queue.filter(({ called }) => called).map(({ claim }) => claim.mode)),
    'reserved',
  )
  assert.equal(count('waiting'), queue.length, 'waiting')
  const claims = hash.filter((text, place) => place % 2 === 0 && /^(holder|waiter):/.test(text)).length
  assert.equal(claims, queue.length + holds.flatMap(({ members }) => members).length, 'claims')
}

function notificationOf({ inbox, text }: { inbox: string; text: string }): AddressedNotification {
  const notification = parseNodeNotification(text)
  assert.ok(notification !== null, `a notification that nobody can read: ${JSON.stringify(text)}`)
  return { inbox, notification }
}
