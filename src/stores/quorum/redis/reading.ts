import type { RedisClient } from '../../redis/clients/client.ts'
import { runScript } from '../../redis/scripting.ts'
import { SCRIPTS } from '../scripts.generated.ts'
import { joinedParts, type RawNode } from './state.ts'

/** About how many fields one call shows, so that the server is never held up; of one key among many, so many at least. */
const FIELDS_PER_CALL = 200
const FIELDS_PER_KEY = 10

/** What a look at some keys shows; null for a format that is not known. */
export interface Look {
  readonly stampUs: number
  readonly states: readonly (RawNode | null)[]
}

/** Looks at keys without counting the time that passed. A crowd is read in parts. */
export async function readKeys(client: RedisClient, names: readonly string[]): Promise<Look> {
  const { stampUs, states } = await readPart(client, names, '0')
  const whole = states.map((state, place) => readOn(client, names[place] as string, state))
  return { stampUs, states: await Promise.all(whole) }
}

async function readOn(client: RedisClient, name: string, first: RawNode | null): Promise<RawNode | null> {
  let whole = first
  while (whole !== null && whole[0] !== '0') {
    const [next] = (await readPart(client, [name], whole[0])).states
    whole = next == null ? null : joinedParts(whole, next)
  }
  return whole
}

async function readPart(client: RedisClient, names: readonly string[], cursor: string): Promise<Look> {
  const fields = Math.max(FIELDS_PER_KEY, Math.floor(FIELDS_PER_CALL / names.length))
  const answer = await runScript(client, SCRIPTS.read, names, [String(fields), cursor], (raw) => raw)
  const [stamp, ...states] = answer as [unknown, ...unknown[]]
  return {
    stampUs: Number(stamp),
    states: states.map((raw) => (Array.isArray(raw) ? (raw as unknown as RawNode) : null)),
  }
}
