import type { Runtime } from '../../../core/runtime.ts'
import { answeredWithin } from '../../../core/runtime.ts'
import { whyOf } from '../../../errors.ts'
import type { Master, RedisClient } from '../clients/client.ts'

/** A live server answers a PING sooner. */
const ANSWER_MS = 1000

/** The servers that answer, and those that do not, each with its name and the reason. */
export interface Reachable {
  readonly servers: readonly RedisClient[]
  readonly silent: readonly { readonly name: string; readonly why: string }[]
}

/** A silent server of a cluster must not hide the others; a single server has the deadline of the call. */
export async function reachableServers(client: RedisClient, runtime: Runtime): Promise<Reachable> {
  if (client.cluster === null) return { servers: [client], silent: [] }
  const masters = await client.cluster.masters()
  const outcomes = await Promise.all(masters.map((master) => whySilent(master, runtime)))
  return {
    servers: masters.filter((_, index) => outcomes[index] === null).map(({ client }) => client),
    silent: masters.flatMap(({ name }, index) => {
      const why = outcomes[index] ?? null
      return why === null ? [] : [{ name, why }]
    }),
  }
}

async function whySilent({ client }: Master, runtime: Runtime): Promise<string | null> {
  try {
    await answeredWithin(client.send('PING', []), ANSWER_MS, runtime)
    return null
  } catch (error) {
    return whyOf(error)
  }
}
