import { parametersOf } from '../../core/parameters.ts'
import { InvalidArgumentError } from '../../errors.ts'
import type { SqliteOptions } from './index.ts'

const SHAPE =
  /^(?:sqlite|file):(?:\/\/(?<host>[^/?#]*))?(?<path>[^?#]*)(?:\?(?<query>[^#]*))?(?<fragment>#.*)?$/i

/**
 * The options of a `sqlite:` or `file:` URL: `sqlite:./locks.db`, `sqlite:/var/lib/locks.db`,
 * `file:///var/lib/locks.db`, with `?allowUnsafeFileSystem=1`. A relative path counts from the working folder.
 */
export function sqliteOptionsOf(url: string): SqliteOptions {
  const parts = SHAPE.exec(url)?.groups
  if (parts === undefined) throw refused(url, 'must begin with sqlite: or file:')
  const { host = '', path = '', query = '', fragment } = parts
  if (fragment !== undefined) throw refused(url, 'must not have a fragment: write # as %23')
  if (host !== '' && host !== 'localhost') {
    throw refused(
      url,
      `names a host, ${JSON.stringify(host)}: write a relative path as sqlite:./${host}${path}`,
    )
  }
  if (path === '') throw refused(url, 'has no path')
  return { path: withoutRoot(decodedPath(url, path)), ...optionsIn(url, query) }
}

function optionsIn(url: string, query: string): Omit<SqliteOptions, 'path'> {
  const { allowUnsafeFileSystem: value } = parametersOf(query, { allowUnsafeFileSystem: true })
  if (value === undefined) return {}
  if (!/^(?:0|1|true|false)$/.test(value))
    throw refused(url, 'allowUnsafeFileSystem must be 1, 0, true or false')
  return { allowUnsafeFileSystem: value === '1' || value === 'true' }
}

/** On Windows the path of file:///C:/locks.db begins with a slash that is not part of it. */
function withoutRoot(path: string): string {
  return process.platform === 'win32' ? path.replace(/^\/(?=[a-z]:)/i, '') : path
}

function decodedPath(url: string, path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw refused(url, 'is not well percent-encoded: write % as %25')
  }
}

function refused(url: string, problem: string): InvalidArgumentError {
  return new InvalidArgumentError('url', `${JSON.stringify(url)} ${problem}`)
}
