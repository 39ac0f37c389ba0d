import type { RedisClient } from '../../redis/clients/client.ts'
import { runScript } from '../../redis/scripting.ts'
import { SCRIPTS } from '../scripts.generated.ts'
import { joinedParts, type RawNode } from './state.ts'

/** Fields of one call, about, so that it is short; at least so many of each key. */
const FIELDS_PER_CALL = 200
const FIELDS_PER_KEY = 10

/** Keys as the server has them; null for an unknown format. */
interface KeySnapshot {
  readonly stampUs: number
  readonly states: readonly (RawNode | null)[]
}

/** Reads keys as they were written; a crowd is read in parts. */
export async function readKeys(client: RedisClient, names: readonly string[]): Promise<KeySnapshot> {
  const { stampUs, states } = await readPart(client, names, '0')
  const whole = states.map((state, index) => readOn(client, names[index] as string, state))
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

async function readPart(client: RedisClient, names: readonly string[], cursor: string): Promise<KeySnapshot> {
  const fields = Math.max(FIELDS_PER_KEY, Math.floor(FIELDS_PER_CALL / names.length))
  const answer = await runScript(client, SCRIPTS.read, names, [String(fields), cursor], (raw) => raw)
  const [stamp, ...states] = answer as [unknown, ...unknown[]]
  return {
    stampUs: Number(stamp),
    states: states.map((raw) => (Array.isArray(raw) ? (raw as unknown as RawNode) : null)),
  }
}
