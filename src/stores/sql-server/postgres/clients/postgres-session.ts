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

/** How long it may take to say farewell, where nothing is left unanswered. */
const FAREWELL_SECONDS = 1

/**
 * A pool of one, made by the library from the options of another, as it makes the connection that it listens on. Whoever has
 * such a pool has installed the library, but a bundle may have swallowed it. It is never connected again: what the library had left to write to a connection that
 * broke stands before the first words to the next one, and keeps them back.
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
   * The library forgets what it was given between an error of a connection and its end, and would connect again for what it still has to
   * send. Nobody would know that connection.
   */
  const over = (): void => {
    if (open) {
      open = false
      events.lost()
      sql.end({ timeout: FAREWELL_SECONDS }).catch(ignore)
    }
    for (const reject of pending) reject(ended())
  }
  const close = async (): Promise<void> => {
    open = false
    await sql.end({ timeout: pending.size > 0 ? 0 : FAREWELL_SECONDS })
  }
  const query = (text: string, values: readonly unknown[], often = false): Promise<readonly Row[]> => {
    // By itself it would open another connection, without the locks of this one.
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
    // The library stops its own timer as soon as the server is ready, before it sends this.
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

/** An array as PostgreSQL writes it. The library knows arrays only when it was left to ask the server for their types. */
function literalOf(values: readonly unknown[]): string {
  const items = values.map((value) =>
    typeof value === 'string' ? `"${value.replace(/["\\]/g, '\\$&')}"` : String(value ?? 'NULL'),
  )
  return `{${items.join(',')}}`
}
