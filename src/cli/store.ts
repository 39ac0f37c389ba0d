import { mkdirSync } from 'node:fs'
import { homedir, hostname } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { connect, InvalidArgumentError, LockError, type Locks, StoreError } from '../index.ts'
import { messageOf } from './output.ts'

/** How this process is shown to operators; also how it finds itself in a line. */
export const LABEL = `${hostname()}:${process.pid}`

const LONGEST_CLOSE_MS = 2_000

/** The locks of `--store`, else of HOLDFAST_STORE, else of the SQLite file in the user's state folder. */
export async function openLocks(store: string | undefined): Promise<Locks> {
  const url = store ?? (process.env.HOLDFAST_STORE || undefined)
  try {
    return await connect(url ?? defaultUrl(), { label: LABEL })
  } catch (error) {
    // A file that cannot be opened may be there again tomorrow; it is not the caller's mistake as a bad URL is.
    const unreachable = error instanceof InvalidArgumentError && error.argument === 'path'
    if (error instanceof LockError && !unreachable) throw error
    throw new StoreError(`the store cannot be opened: ${messageOf(error)}`, { cause: error })
  }
}

/** Runs one command's work and closes the locks on every way out. */
export async function withLocks<T>(opened: Promise<Locks>, work: (locks: Locks) => Promise<T>): Promise<T> {
  const locks = await opened
  try {
    return await work(locks)
  } finally {
    await closeLocks(locks)
  }
}

/** Lets go of everything. What the command has to say is known by now, so a store that hangs must not hold it up. */
async function closeLocks(locks: Locks): Promise<void> {
  const patience = new AbortController()
  await Promise.race([
    locks.close().catch(() => undefined),
    sleep(LONGEST_CLOSE_MS, undefined, { signal: patience.signal }).catch(() => undefined),
  ])
  patience.abort()
}

/** Where the default file lies, by the customs of the platform. */
export function defaultFile(platform = process.platform, env = process.env, home = homedir()): string {
  return join(stateFolder(platform, env, home), 'holdfast', 'locks.db')
}

function stateFolder(platform: NodeJS.Platform, env: NodeJS.ProcessEnv, home: string): string {
  // A relative path in XDG_STATE_HOME is invalid by its specification and has to be ignored.
  if (env.XDG_STATE_HOME && isAbsolute(env.XDG_STATE_HOME)) return env.XDG_STATE_HOME
  if (platform === 'win32') return env.LOCALAPPDATA || join(home, 'AppData', 'Local')
  if (platform === 'darwin') return join(home, 'Library', 'Application Support')
  return join(home, '.local', 'state')
}

function defaultUrl(): string {
  const file = defaultFile()
  // Only the user may read it: labels and keys can be telling.
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  return pathToFileURL(file).href
}
