import { mkdirSync } from 'node:fs'
import { homedir, hostname } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { connect, InvalidArgumentError, LockError, type Locks, StoreError } from '../index.ts'
import { messageOf } from './output.ts'

/** The label of this process for operators; also how it finds itself in a queue. */
export const LABEL = `${hostname()}:${process.pid}`

const LONGEST_CLOSE_MS = 2_000

/** The locks of `--store`, else of HOLDFAST_STORE, else of the SQLite file in the user's state folder. */
export async function openLocks(store: string | undefined): Promise<Locks> {
  const url = store ?? (process.env.HOLDFAST_STORE || undefined)
  try {
    return await connect(url ?? defaultUrl(), { label: LABEL })
  } catch (error) {
    // A file that cannot be opened may come back; it is not the caller's mistake, unlike a bad URL.
    const unreachable = error instanceof InvalidArgumentError && error.argument === 'path'
    if (error instanceof LockError && !unreachable) throw error
    throw new StoreError(`the store cannot be opened: ${messageOf(error)}`, { cause: error })
  }
}

/** Runs one command's work and closes the locks in every case. */
export async function withLocks<T>(opened: Promise<Locks>, work: (locks: Locks) => Promise<T>): Promise<T> {
  const locks = await opened
  try {
    return await work(locks)
  } finally {
    await closeLocks(locks)
  }
}

/** Closes the locks. The result of the command is known by now, so a store that hangs must not delay it. */
async function closeLocks(locks: Locks): Promise<void> {
  const patience = new AbortController()
  await Promise.race([
    locks.close().catch(() => undefined),
    sleep(LONGEST_CLOSE_MS, undefined, { signal: patience.signal }).catch(() => undefined),
  ])
  patience.abort()
}

/** The path of the default file, by the conventions of the platform. */
export function defaultFile(platform = process.platform, env = process.env, home = homedir()): string {
  return join(stateFolder(platform, env, home), 'holdfast', 'locks.db')
}

function stateFolder(platform: NodeJS.Platform, env: NodeJS.ProcessEnv, home: string): string {
  // The specification says that a relative XDG_STATE_HOME is invalid and must be ignored.
  if (env.XDG_STATE_HOME && isAbsolute(env.XDG_STATE_HOME)) return env.XDG_STATE_HOME
  if (platform === 'win32') return env.LOCALAPPDATA || join(home, 'AppData', 'Local')
  if (platform === 'darwin') return join(home, 'Library', 'Application Support')
  return join(home, '.local', 'state')
}

function defaultUrl(): string {
  const file = defaultFile()
  // Readable only by the user: labels and keys may be confidential.
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  return pathToFileURL(file).href
}
