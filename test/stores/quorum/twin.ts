import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { Clock } from '../../../src/model/index.ts'
import { CALL_MS, type NodeLetter, type NodeState } from '../../../src/stores/quorum/meaning/state.ts'
import type { Question, Vote } from '../../../src/stores/quorum/protocol.ts'
import { ballotsOf, callOf, questionText } from '../../../src/stores/quorum/redis/codec.ts'
import { quorumName } from '../../../src/stores/quorum/redis/names.ts'
import { type RawState, stateOf } from '../../../src/stores/quorum/redis/state.ts'
import { SCRIPTS } from '../../../src/stores/quorum/scripts.generated.ts'

/** What happens to a node at one moment: questions that come together, or an operator. */
export type Happening =
  | { readonly kind: 'ask'; readonly questions: readonly Question[] }
  | { readonly kind: 'evict'; readonly key: string; readonly ids: readonly string[]; readonly ask: boolean }

export interface Effect {
  readonly votes: readonly Vote[]
  readonly letters: readonly NodeLetter[]
  readonly states: readonly NodeState[]
}

/**
 * The scripts with another clock and another post office: they take the time as their last two arguments and put their
 * letters into a list. Everything else is what users run.
 */
const TEST_SCRIPTS = { ask: testScript('ask'), evict: testScript('evict') }

/** The server's side of a comparison. Happenings are sent in one pipeline and answered together. */
export class Twin {
  private readonly redis: Redis

  constructor(redis: Redis) {
    this.redis = redis
  }

  async load(): Promise<void> {
    for (const { source } of [...Object.values(TEST_SCRIPTS), SCRIPTS.read])
      await this.redis.call('SCRIPT', ['LOAD', source])
  }

  async play(
    moments: readonly { happening: Happening; clock: Clock }[],
    keys: readonly string[],
  ): Promise<Effect[]> {
    const pipeline = this.redis.pipeline()
    for (const { happening, clock } of moments) {
      const { script, names, args } = commandOf(happening)
      const time = [String(clock.nowMs), String(clock.stampUs)]
      pipeline.call('EVALSHA', [TEST_SCRIPTS[script].sha, String(names.length), ...names, ...args, ...time])
      pipeline.call('LRANGE', ['letters', '0', '-1'])
      pipeline.call('DEL', ['letters'])
      pipeline.call('EVALSHA', [SCRIPTS.read.sha, String(keys.length), ...keys.map(quorumName)])
    }
    const replies = (await pipeline.exec()) as [Error | null, unknown][]
    for (const [error] of replies) if (error !== null) throw error
    return moments.map(({ happening }, index) => {
      const [answered, letters, , read] = replies.slice(index * 4, index * 4 + 4).map(([, reply]) => reply)
      const [, ...states] = read as [number, ...RawState[]]
      return {
        votes: votesOf(happening, answered),
        letters: (letters as string[]).map(letterOf),
        states: states.map((raw, place) => stateOf(keys[place] as string, raw)),
      }
    })
  }
}

function commandOf(happening: Happening): { script: 'ask' | 'evict'; names: string[]; args: string[] } {
  if (happening.kind === 'ask') {
    const { questions } = happening
    const names = questions.map(({ claim }) => quorumName(claim.key))
    return { script: 'ask', names, args: questions.map(questionText) }
  }
  const { key, ids, ask } = happening
  const args = [ask ? 'ask' : 'evict', ids.map((id) => `${id}\0`).join('')]
  return { script: 'evict', names: [quorumName(key)], args }
}

function votesOf(happening: Happening, answered: unknown): Vote[] {
  if (happening.kind === 'evict') return []
  return [...ballotsOf(happening.questions, answered).votes]
}

function letterOf(text: string): NodeLetter {
  const end = text.indexOf('\0')
  const call = callOf(text.slice(end + 1))
  assert.ok(call !== null, `a letter that nobody can read: ${JSON.stringify(text)}`)
  return { inbox: text.slice(0, end), call }
}

function testScript(name: 'ask' | 'evict'): { source: string; sha: string } {
  let { source }: { source: string } = SCRIPTS[name]
  const replace = (real: string, test: string) => {
    assert.equal(source.split(real).length, 2, `${name}.lua must contain once: ${real}`)
    source = source.replace(real, () => test)
  }
  replace("local time = call('TIME')\n", '')
  replace(
    "local stampText = time[1] .. sub('00000' .. time[2], -6)",
    "local stampText = format('%016.0f', ARGV[#ARGV])",
  )
  replace('local nowText = sub(stampText, 1, 13)', "local nowText = format('%013.0f', ARGV[#ARGV - 1])")
  replace(
    "call('PUBLISH', 'holdfast:inbox:' .. letter[1], letter[2])",
    "call('RPUSH', 'letters', letter[1] .. '\\0' .. letter[2])",
  )
  assert.ok(source.includes(`local CALL = ${CALL_MS}\n`))
  return { source, sha: createHash('sha1').update(source).digest('hex') }
}
