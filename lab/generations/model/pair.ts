import type { ServerAddress } from '../environments.ts'
import type { Pair } from '../servers/pair.ts'
import { ModelServer } from './server.ts'

/** A primary and a replica of the model: what is written to one is copied to the other, while the line between them holds. */
export async function modelPair(fencedUrlOf: (name: string) => string): Promise<Pair> {
  const [primary, replica] = await Promise.all([ModelServer.start(), ModelServer.start()])
  let stalled = false
  primary.keys.onWrite = (key, entry) => {
    if (!stalled) replica.keys.put(key, entry)
  }
  // Holdfast over SQLite has no replicas: a second file that has never heard of the first lock stands for one.
  const addressOf = (server: ModelServer, name: string): ServerAddress => ({
    url: server.url,
    fencedUrl: fencedUrlOf(name),
  })
  return {
    primary: addressOf(primary, 'primary'),
    replica: addressOf(replica, 'replica'),
    stall: () => {
      stalled = true
    },
    crash: () => primary.crash(),
    promote: async () => {},
    close: async () => {
      await Promise.all([primary.stop(), replica.stop()])
    },
  }
}
