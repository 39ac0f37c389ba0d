import { accessSync, constants, realpathSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { InvalidArgumentError } from '../../errors.ts'

/** The absolute path of the database, without symbolic links. Throws for a path that cannot hold a database. */
export function locate(path: string): string {
  if (typeof path !== 'string' || path === '')
    throw new InvalidArgumentError('path', 'must be the path of a file')
  if (path.includes('\0')) throw new InvalidArgumentError('path', 'must not contain U+0000')
  if (path === ':memory:') {
    throw new InvalidArgumentError(
      'path',
      'must be a file: ":memory:" is seen by nobody else; use the memory store',
    )
  }
  const asked = resolve(path)
  const found = statOf(asked)
  if (found?.isDirectory() === true) throw refusedPath(asked, 'is a folder')
  if (found !== null && !found.isFile()) throw refusedPath(asked, 'is not a regular file')
  const file = found === null ? join(folderOf(asked), basename(asked)) : realpathSync(asked)
  if (found !== null) mustBeAccessible(file, file, 'cannot be read and written')
  mustBeAccessible(
    file,
    dirname(file),
    'is in a folder that cannot be written, and SQLite keeps its -wal and -shm files beside the database',
  )
  return file
}

export function refusedPath(file: string, problem: string): InvalidArgumentError {
  return new InvalidArgumentError('path', `${JSON.stringify(file)} ${problem}`)
}

function folderOf(file: string): string {
  const folder = dirname(file)
  const found = statOf(folder)
  if (found === null)
    throw refusedPath(file, `is in a folder that does not exist: create ${JSON.stringify(folder)} first`)
  if (!found.isDirectory()) throw refusedPath(file, `is not in a folder: ${JSON.stringify(folder)} is a file`)
  return realpathSync(folder)
}

function mustBeAccessible(file: string, subject: string, problem: string): void {
  try {
    accessSync(subject, constants.R_OK | constants.W_OK)
  } catch (cause) {
    throw refusedPath(file, `${problem} (${codeOf(cause)})`)
  }
}

function statOf(path: string): Stats | null {
  try {
    return statSync(path)
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT' || codeOf(cause) === 'ENOTDIR') return null
    throw refusedPath(path, `cannot be read (${codeOf(cause)})`)
  }
}

export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}
