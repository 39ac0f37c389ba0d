// Programs that come from the npm registry and are kept in .cache/.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** Path of the program at `path` in a package, which is fetched on first use; its `--version` must name the version. */
export function fetched({ folder, name, version, path }) {
  const home = resolve('.cache', folder)
  const binary = resolve(home, 'node_modules', name, path)
  if (isVersion(binary, version)) return binary
  mkdirSync(home, { recursive: true })
  writeFileSync(resolve(home, 'package.json'), '{ "private": true }\n')
  const install = ['install', '--no-save', '--no-package-lock', '--prefix', home, `${name}@${version}`]
  const shell = process.platform === 'win32'
  const { status, stdout, stderr } = spawnSync('npm', install, { encoding: 'utf8', shell })
  if (status !== 0) throw new Error(`${name}@${version} could not be installed:\n${stdout}${stderr}`)
  chmodSync(binary, 0o755)
  if (!isVersion(binary, version)) throw new Error(`${name}@${version} does not run here`)
  return binary
}

function isVersion(binary, version) {
  if (!existsSync(binary)) return false
  const { stdout } = spawnSync(binary, ['--version'], { encoding: 'utf8' })
  return (
    stdout
      ?.trim()
      .split(/\s+/)
      .slice(0, 2)
      .some((word) => word === version || word === `v${version}`) ?? false
  )
}
