import { WireConnection } from '../wire/connection.ts'

/** Deletes whatever a run has left in a server, also what Holdfast keeps of a lock after its end. */
export async function sweep(url: string, prefix: string): Promise<void> {
  const connection = await WireConnection.open(url)
  try {
    let cursor = '0'
    do {
      const reply = await connection.call('SCAN', cursor, 'MATCH', `*${prefix}*`, 'COUNT', 500)
      const [next, keys] = reply as [string, string[]]
      if (keys.length > 0) await connection.call('DEL', ...keys)
      cursor = next
    } while (cursor !== '0')
  } finally {
    connection.close()
  }
}
