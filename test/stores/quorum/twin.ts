import assert from 'node:assert/strict'
import type { Redis } from 'ioredis'
import type { Clock } from '../../../src/model/index.ts'
import type { NodeLetter, NodeState } from '../../../src/stores/quorum/meaning/state.ts'
import type { Question, Vote } from '../../../src/stores/quorum/protocol.ts'
import { ballotsOf, callOf, questionText } from '../../../src/stores/quorum/redis/codec.ts'
import { quorumName } from '../../../src/stores/quorum/redis/names.ts'
import { type RawState, stateOf } from '../../../src/stores/quorum/redis/state.ts'
import { SCRIPTS } from '../../../src/stores/quorum/scripts.generated.ts'
import { type Call, load, perform, staged } from '../redis/staged.ts'

/** What happens to a node at one moment: questions that come together, or an operator. */
export type Happening =
  | { readonly kind: 'ask'; readonly questions: readonly Question[] }
  | { readonly kind: 'evict'; readonly key: string; readonly ids: readonly string[]; readonly ask: boolean }

export interface Effect {
  readonly votes: readonly Vote[]
  readonly letters: readonly NodeLetter[]
  readonly states: readonly NodeState[]
}

/** The time that the server itself counts goes its own way: a release looks at that of the comparison, too. */
const LASTS = "call('PTTL', key) > KEEP"
const LASTS_HERE = `${LASTS} and sub(value, 48, 60) + sub(value, 61, 70) > ARGV[#ARGV - 1] + 0`
assert.equal(SCRIPTS.ask.source.split(LASTS).length, 2, `ask.lua must contain once: ${LASTS}`)

const TEST_SCRIPTS = {
  ask: staged('ask', { source: SCRIPTS.ask.source.replace(LASTS, LASTS_HERE) }),
  evict: staged('evict', SCRIPTS.evict),
}

/** The server's side of a comparison. Happenings are sent in one pipeline and answered together. */
export class Twin {
  private readonly redis: Redis

  constructor(redis: Redis) {
    this.redis = redis
  }

  load(): Promise<void> {
    return load(this.redis, [...Object.values(TEST_SCRIPTS), SCRIPTS.read])
  }

  async play(
    moments: readonly { happening: Happening; clock: Clock }[],
    keys: readonly string[],
  ): Promise<Effect[]> {
    const calls = moments.map(({ happening, clock }) => ({ ...commandOf(happening), clock }))
    const outcomes = await perform<RawState>(this.redis, calls, SCRIPTS.read, keys.map(quorumName))
    return outcomes.map(({ reply, letters, states }, place) => ({
      votes: votesOf((moments[place] as { happening: Happening }).happening, reply),
      letters: letters.map(letterOf),
      states: states.map((raw, index) => stateOf(keys[index] as string, raw)),
    }))
  }
}

function commandOf(happening: Happening): Omit<Call, 'clock'> {
  if (happening.kind === 'ask') {
    const { questions } = happening
    const names = questions.map(({ claim }) => quorumName(claim.key))
    return { script: TEST_SCRIPTS.ask, names, args: questions.map(questionText) }
  }
  const { key, ids, ask } = happening
  const args = [ask ? 'ask' : 'evict', ids.map((id) => `${id}\0`).join('')]
  return { script: TEST_SCRIPTS.evict, names: [quorumName(key)], args }
}

function votesOf(happening: Happening, answered: unknown): Vote[] {
  if (happening.kind === 'evict') return []
  return [...ballotsOf(happening.questions, answered).votes]
}

function letterOf({ inbox, text }: { inbox: string; text: string }): NodeLetter {
  const call = callOf(text)
  assert.ok(call !== null, `a letter that nobody can read: ${JSON.stringify(text)}`)
  return { inbox, call }
}
