import { optionalPeer } from '../../../../core/optional-peer.ts'
import { UnsupportedError } from '../../../../errors.ts'
import type { StatementTimeout } from '../../statement-timeout.ts'
import type { Row } from '../../tables/rows.ts'
import { isAnswer, type PostgresSession, type SessionEvents } from './client.ts'

interface OneConnection {
  unsafe(text: string, values?: unknown[], options?: { prepare: boolean }): Promise<readonly Row[]>
  end(options?: { timeout: number }): Promise<void>
}

type Make = (options: object) => OneConnection

/** The timeout of a graceful close, when no answer is outstanding. */
const CLOSE_SECONDS = 1

/**
 * A pool of one connection with the options of another pool. The caller has installed the library, but a bundle may hide it. The session
 * never reconnects: unsent data of a broken connection would block the first messages of the next one.
 */
export async function openSession(
  options: object,
  events: SessionEvents,
  timeout: StatementTimeout,
): Promise<PostgresSession> {
  const library = await optionalPeer<{ default: Make }>('postgres')
  if (library === null)
    throw new UnsupportedError(
      'connections of postgres.js need its package at run time: keep it out of the bundle',
    )
  const pending = new Set<(error: Error) => void>()
  let open = true
  const sql = library.default({
    ...options,
    shared: { retries: 0, typeArrayMap: {} },
    max: 1,
    idle_timeout: null,
    max_lifetime: null,
    fetch_types: false,
    no_subscribe: true,
    onnotice: () => {},
    onnotify: (channel: string, payload: string) => events.heard?.(channel, payload),
    onclose: () => over(),
  })
  /**
   * The library forgets queries between an error of a connection and its end, and would reconnect for the unsent ones, on a connection
   * that the store does not know.
   */
  const over = (): void => {
    if (open) {
      open = false
      events.lost()
      sql.end({ timeout: CLOSE_SECONDS }).catch(ignore)
    }
    for (const reject of pending) reject(ended())
  }
  const close = async (): Promise<void> => {
    open = false
    await sql.end({ timeout: pending.size > 0 ? 0 : CLOSE_SECONDS })
  }
  const query = (text: string, values: readonly unknown[], often = false): Promise<readonly Row[]> => {
    // The library would open another connection, without the locks of this one.
    if (!open) return Promise.reject(ended())
    const sent = values.map((value) => (Array.isArray(value) ? literalOf(value) : value))
    return new Promise((resolve, reject) => {
      pending.add(reject)
      const answer = sql.unsafe(text, sent, { prepare: often })
      const failed = (error: unknown): void => {
        reject(error)
        if (!isAnswer(error)) over()
      }
      answer.then(resolve, failed).finally(() => pending.delete(reject))
    })
  }
  try {
    // The library's own timer stops when the server is ready, before this is sent.
    const first = await timeout.bound(query('SELECT 1', []), ignore)
    const { state } = first as unknown as { state: { pid: number } | null }
    return { pid: state?.pid ?? null, query, close }
  } catch (error) {
    await close()
    throw error
  }
}

function ignore(): void {}

function ended(): Error {
  return new Error('the connection ended')
}

/** An array in PostgreSQL's notation. The library knows arrays only after it has asked the server for their types. */
function literalOf(values: readonly unknown[]): string {
  const items = values.map((value) =>
    typeof value === 'string' ? `"${value.replace(/["\\]/g, '\\$&')}"` : String(value ?? 'NULL'),
  )
  return `{${items.join(',')}}`
}
