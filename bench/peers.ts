import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
/** npm writes it when everything is installed. */
const INSTALLED = new URL('./node_modules/.package-lock.json', import.meta.url)
const WANTED = new URL('./package-lock.json', import.meta.url)

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>
}

/** Installs the other libraries when they are not there, or not in these versions: nothing but a benchmark needs them. */
export function installPeers(progress: (what: string) => void): void {
  if (existsSync(INSTALLED) && same(versionsIn(INSTALLED), versionsIn(WANTED))) return
  progress('installing the other libraries in bench/ …')
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: FOLDER,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

/** The versions of the packages that are compared, by the names that they are asked for with. */
export function peerVersions(): Record<string, string> {
  const { devDependencies } = JSON.parse(
    readFileSync(new URL('./package.json', import.meta.url), 'utf8'),
  ) as { devDependencies: Record<string, string> }
  return Object.fromEntries(
    Object.entries(devDependencies).map(([name, version]) =>
      version.startsWith('npm:') ? [name, version.slice(version.lastIndexOf('@') + 1)] : [name, version],
    ),
  )
}

function versionsIn(file: URL): Map<string, string> {
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as Lock
  const named = Object.entries(packages).filter(([path]) => path !== '')
  return new Map(named.map(([path, { version = '' }]) => [path, version]))
}

function same(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([path, version]) => other.get(path) === version)
}
