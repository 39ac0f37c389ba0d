import type { PostgresSession, Row } from './client.ts'

interface Pending extends Promise<readonly Row[]> {
  simple(): Promise<unknown>
}

interface OneConnection {
  unsafe(text: string, values?: unknown[], options?: { prepare: boolean }): Pending
  end(options?: { timeout: number }): Promise<void>
}

type Make = (options: object) => OneConnection

/** How long it may take to say farewell. */
const FAREWELL_SECONDS = 1

/**
 * A pool of one, made by the library from the options of another, as it makes the connection that it listens on. Whoever has
 * such a pool has installed the library.
 */
export async function openSession(options: object, lost: () => void): Promise<PostgresSession> {
  const library = await import('postgres')
  let open = true
  const sql = (library.default as unknown as Make)({
    ...options,
    shared: { retries: 0, typeArrayMap: {} },
    max: 1,
    idle_timeout: null,
    max_lifetime: null,
    fetch_types: false,
    no_subscribe: true,
    onnotice: () => {},
    onclose: () => {
      if (open) lost()
      open = false
    },
  })
  const close = async (): Promise<void> => {
    open = false
    await sql.end({ timeout: FAREWELL_SECONDS })
  }
  const query = async (text: string, values: readonly unknown[], often = false): Promise<readonly Row[]> => {
    // By itself it would open another connection, without the locks of this one.
    if (!open) throw new Error('the connection ended')
    const sent = values.map((value) => (Array.isArray(value) ? `{${value.join(',')}}` : value))
    return await sql.unsafe(text, sent, { prepare: often })
  }
  try {
    const { state } = (await query('SELECT 1', [], false)) as unknown as { state: { pid: number } | null }
    return { pid: state?.pid ?? null, query, close }
  } catch (error) {
    await close()
    throw error
  }
}
