// Fetches the other runtimes that the package is tried on into .cache/.
import { pathToFileURL } from 'node:url'
import { fetched } from './fetched.mjs'
import { nodeBinary, versions } from './nodes.mjs'

export { nodeBinary }

const { platform, arch } = process
const ending = platform === 'win32' ? '.exe' : ''

export function bun() {
  const system = platform === 'win32' ? 'windows' : platform
  const name = `@oven/bun-${system}-${arch === 'arm64' ? 'aarch64' : arch}`
  return fetched({ folder: 'bun', name, version: '1.4.4', path: `bin/bun${ending}` })
}

export function deno() {
  const name = `@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}`
  return fetched({ folder: 'deno', name, version: '2.9.6', path: `deno${ending}` })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  bun()
  deno()
  for (const major of Object.keys(versions)) nodeBinary(major)
}
