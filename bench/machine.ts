import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, release, type } from 'node:os'

/** Where the figures come from: without it they mean nothing. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly system: string
  readonly node: string
  readonly packages: Readonly<Record<string, string>>
}

const PACKAGES = ['async-mutex', 'proper-lockfile', '@photostructure/sqlite', 'ioredis', 'redis']

export function thisMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    system: `${type()} ${release()}`,
    node: process.version,
    packages: Object.fromEntries([
      ['holdfast', versionIn('../package.json')],
      ...PACKAGES.map((name) => [name, versionIn(`../node_modules/${name}/package.json`)]),
    ]),
  }
}

function versionIn(file: string): string {
  return (JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as { version: string }).version
}
