import type { Store } from 'holdfast'
import { quorum } from 'holdfast/quorum'
import type { CLIENTS } from '../redis/clients.ts'

let names = 0

/** A store over clients of its own, which are closed with it; `name` tells its connections in CLIENT LIST. */
export async function openQuorum(
  bring: (typeof CLIENTS)[string],
  ports: readonly number[],
): Promise<{ store: Store; name: string }> {
  const name = `quorum-${++names}`
  const brought = await Promise.all(ports.map((port) => bring(port, name)))
  const store = quorum(brought.map(({ client }) => client))
  const closeStore = store.close.bind(store)
  store.close = async () => {
    await closeStore()
    for (const { close } of brought) await close()
  }
  return { store, name }
}
