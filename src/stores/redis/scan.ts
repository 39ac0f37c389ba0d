import type { RedisClient } from './clients/client.ts'

const KEYS_PER_SCAN = '500'

/** Names by cursor, so that the server is never held up; the same name may come twice. */
export async function* scan(
  server: RedisClient,
  pattern: string,
  onPage?: () => void,
): AsyncIterable<readonly string[]> {
  let cursor = '0'
  do {
    const page = await server.send('SCAN', [cursor, 'MATCH', pattern, 'COUNT', KEYS_PER_SCAN])
    const [next, names] = page as [unknown, string[]]
    cursor = String(next)
    onPage?.()
    yield names
  } while (cursor !== '0')
}

export function parts<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  const count = Math.ceil(all.length / size)
  return Array.from({ length: count }, (_, at) => all.slice(at * size, (at + 1) * size))
}
