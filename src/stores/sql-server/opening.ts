import { nodeRuntime } from '../../core/runtime.ts'
import { InvalidArgumentError, LockError, unreachable } from '../../errors.ts'
import { StatementTimeout } from './statement-timeout.ts'

/** A store opens so many connections for its statements; idle ones are closed after a while. */
const CONNECTIONS = 2
const MOST_CONNECTIONS = 100

interface Preparable {
  prepare(): Promise<void>
  close(): Promise<void>
}

interface Upgradable extends Preparable {
  readonly madeTables: boolean
  upgrade(): Promise<boolean>
}

/** The timeout of a store that a URL opens. */
export function timeoutOf(callTimeoutMs?: number): StatementTimeout {
  const timeout = new StatementTimeout(nodeRuntime)
  if (callTimeoutMs !== undefined) timeout.allow(callTimeoutMs)
  return timeout
}

/** The store, ready for use; or closed, and an error that names the server. */
export async function prepared<S extends Preparable>(store: S, server: string): Promise<S> {
  try {
    await store.prepare()
  } catch (error) {
    await store.close()
    throw named(server, error)
  }
  return store
}

/** Makes the tables, or upgrades those of format 1, and closes the store. Resolves to whether there was anything to do. */
export async function migrated(store: Upgradable, server: string): Promise<boolean> {
  try {
    const upgraded = await store.upgrade()
    await store.prepare()
    return upgraded || store.madeTables
  } catch (error) {
    throw named(server, error)
  } finally {
    await store.close()
  }
}

export function urlOf(url: string, example: string): URL {
  let parts: URL
  try {
    parts = new URL(url)
  } catch {
    throw new InvalidArgumentError('url', `must be like ${example}`)
  }
  if (parts.hostname === '') throw new InvalidArgumentError('url', 'names no host')
  return parts
}

export function connectionsOf(parameter: string | undefined): number {
  if (parameter === undefined) return CONNECTIONS
  const count = Number(parameter)
  if (!/^\d+$/.test(parameter) || count < 1 || count > MOST_CONNECTIONS)
    throw new InvalidArgumentError('url', `must give as connections a number from 1 to ${MOST_CONNECTIONS}`)
  return count
}

/** The options of a store that both databases take from a URL. */
export function tableOptionsOf({
  table,
  advisory,
}: {
  readonly table?: string
  readonly advisory?: string
}): { readonly table?: string; readonly advisory?: boolean } {
  if (advisory !== undefined && advisory !== 'true' && advisory !== 'false')
    throw new InvalidArgumentError('url', 'must give as advisory true or false')
  return {
    ...(table !== undefined && { table }),
    ...(advisory !== undefined && { advisory: advisory === 'true' }),
  }
}

function named(server: string, error: unknown): unknown {
  return error instanceof LockError ? error : unreachable(server, error)
}
