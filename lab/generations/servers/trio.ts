import type { ServerAddress } from '../environments.ts'
import { OwnServer } from './own.ts'

/** Three servers that know nothing of each other. */
export interface Trio {
  /** The figures of all three together. */
  readonly address: ServerAddress
  crashOne(): Promise<void>
  close(): Promise<void>
}

export async function startTrio(): Promise<Trio> {
  const servers = await Promise.all(Array.from({ length: 3 }, () => OwnServer.start()))
  const [first, , last] = servers as [OwnServer, OwnServer, OwnServer]
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join()
  return {
    address: { url: first.url, fencedUrl: `redlock://${hosts}` },
    crashOne: () => last.crash(),
    close: async () => {
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}
