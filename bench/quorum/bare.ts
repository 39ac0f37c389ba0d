import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'

/** As little as a token and a deadline take: the time, what is there, and what is there from now on. A value is a letter, the time, and an id. */
const CLAIM = `
  local time, value = redis.call('TIME'), redis.call('GET', KEYS[1])
  local isFree = not value or string.sub(value, 1, 1) == 'f' or string.sub(value, 18) == ARGV[2]
  if not isFree then return 0 end
  redis.call('SET', KEYS[1], 'h' .. time[1] .. string.sub('00000' .. time[2], -6) .. ARGV[1], 'KEEPTTL')
  return 1`
const RELEASE = `
  local time, value = redis.call('TIME'), redis.call('GET', KEYS[1])
  if not value or string.sub(value, 18) ~= ARGV[1] then return 0 end
  redis.call('SET', KEYS[1], 'f' .. string.sub(value, 2, 17), 'KEEPTTL')
  return 1`

/**
 * No lock to be used: nothing is renewed, retried or taken back. It counts votes as ours does, in as many messages, with the shortest scripts that leave a
 * token: all nodes are asked, a majority is told of the release, and the others with the next claim of the key.
 */
export async function bareVotes(
  clients: readonly Redis[],
): Promise<(key: string, work: () => Promise<void>) => Promise<void>> {
  const load = (script: string) =>
    Promise.all(clients.map((client) => client.script('LOAD', script) as Promise<string>))
  const [claims, releases] = [await load(CLAIM), await load(RELEASE)]
  const majority = Math.floor(clients.length / 2) + 1
  const lastIds = new Map<string, string>()
  return async (key, work) => {
    const id = randomBytes(16).toString('base64url')
    const lastId = lastIds.get(key) ?? ''
    const asked = clients.map((client, place) =>
      client.evalsha(claims[place] as string, 1, `bare:${key}`, id, place < majority ? '' : lastId),
    )
    await votes(asked, majority)
    lastIds.set(key, id)
    await work()
    const told = clients.slice(0, majority).map((client, place) => {
      return client.evalsha(releases[place] as string, 1, `bare:${key}`, id)
    })
    await votes(told, majority)
  }
}

/** Settles with the vote that makes so many; rejects when one fails or says no. */
function votes(answers: readonly Promise<unknown>[], wanted: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let counted = 0
    const count = (vote: unknown): void => {
      if (vote !== 1) reject(new Error('a node refused'))
      else if (++counted === wanted) resolve()
    }
    for (const answer of answers) answer.then(count, reject)
  })
}
