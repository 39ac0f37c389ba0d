import { describe, expect, it } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }
import { type Source, sourceOf, sources } from './boundaries/source.ts'
import { DOORS, FRAMEWORKS, LOADERS, ROOMS, type Room, SIMULATED, SLEEPERS } from './boundaries/walls.ts'

const TIMERS_AND_CHANCE = ['node:timers', 'node:timers/promises', 'node:perf_hooks', 'node:crypto']

const all = sources()

describe('walls', () => {
  it('stand around every file', () => {
    expect(all.length).toBeGreaterThan(50)
    expect(all.filter((source) => roomOf(source.path) === undefined).map(({ path }) => path)).toEqual([])
  })

  it('are kept by every import', () => {
    expect(all.flatMap(trespasses)).toEqual([])
  })

  it('let no client in, not even its types: a user may not have installed it', () => {
    const bare = (name: string) => !name.startsWith('node:') && !/^(?:src\/|lab\/|package\.json$)/.test(name)
    const importing = all.map(({ path, imports }) => [path, imports.filter(bare)] as const)
    expect(Object.fromEntries(importing.filter(([, names]) => names.length > 0))).toEqual(FRAMEWORKS)
  })

  it('let a client be loaded only where that is listed, and only one that a user may leave out', () => {
    const loading = all.filter(({ loads }) => loads.length > 0).map(({ path, loads }) => [path, loads])
    expect(Object.fromEntries(loading)).toEqual(LOADERS)
    const peers: Record<string, { optional: boolean }> = packageJson.peerDependenciesMeta
    const needed = Object.values(LOADERS)
      .flat()
      .map((name) => (/^(?:@[^/]+\/)?[^/]+/.exec(name) as RegExpExecArray)[0])
      .filter((name) => peers[name]?.optional !== true)
    expect(needed).toEqual([])
  })

  it('let no clock, timer or chance in except by the doors that are listed', () => {
    const simulated = all.filter(({ path }) => SIMULATED.some((room) => path.startsWith(room)))
    const found = simulated.flatMap((source) => {
      const allowed = [...(DOORS[source.path]?.uses ?? []), SLEEPERS[source.path]?.uses, 'setTimer']
      return timesOf(source)
        .filter((use) => !allowed.includes(use))
        .map((use) => `${source.path}: ${use}`)
    })
    expect(found).toEqual([])
  })

  it('let no store sleep or retry except for the ones that are listed', () => {
    const sleepers = all
      .filter(({ path }) => path.startsWith('src/stores/'))
      .flatMap(({ path, uses }) => {
        const waits = uses.filter((use) => use === 'setTimer' || use === 'Atomics.wait')
        return waits.filter((use) => SLEEPERS[path]?.uses !== use).map((use) => `${path}: ${use}`)
      })
    expect(sleepers).toEqual([])
  })

  it('have no opening that nobody uses any more', () => {
    const used = (path: string, use: string) => {
      const source = all.find((candidate) => candidate.path === path)
      return source !== undefined && timesOf(source).includes(use)
    }
    const openings = [
      ...Object.entries(DOORS).flatMap(([path, { uses }]) => uses.map((use) => [path, use] as const)),
      ...Object.entries(SLEEPERS).map(([path, { uses }]) => [path, uses] as const),
    ]
    expect(openings.filter(([path, use]) => !used(path, use))).toEqual([])
  })
})

describe('the check of the walls', () => {
  it.each([
    ['src/model/step.ts', `import { StoreError } from '../errors.ts'`],
    ['src/core/lease/lease.ts', `import { memory } from '../../stores/memory/index.ts'`],
    ['src/core/lease/lease.ts', `import type { KeyState } from '../../model/types.ts'`],
    ['src/stores/memory/world.ts', `import { Engine } from '../../core/engine.ts'`],
    ['src/stores/memory/world.ts', `import { orConflict } from '../sql-server/server-errors.ts'`],
    ['src/stores/sql-server/mysql/index.ts', `export { RULES } from '../sqlite/rules.ts'`],
    ['src/stores/sql-server/server-errors.ts', `import { RULES } from '../sqlite/rules.ts'`],
    ['src/recipes/once.ts', `const { StoreLocks } = await import('../core/locks.ts')`],
    ['src/cli/ls.ts', `type View = import('../model/view.ts').KeyView`],
    ['src/cli/ls.ts', `import { StoreLocks } from '../core/locks.ts'`],
    ['src/stores/redis/store.ts', `import type { Redis } from 'ioredis'`],
    ['src/stores/redis/store.ts', `type Client = import('ioredis').Redis`],
  ])('%s may not say %s', (path, text) => {
    expect(trespasses(sourceOf(path, text))).toHaveLength(1)
  })

  it.each([
    ['src/stores/sql-server/mysql/index.ts', `import { orConflict } from '../server-errors.ts'`],
    ['src/stores/redis/scripts/claim.ts', `import { client } from '../client.ts'`],
    ['src/cli/ls.ts', `import { connect } from '../index.ts'`],
  ])('%s may say %s', (path, text) => {
    expect(trespasses(sourceOf(path, text))).toEqual([])
  })

  it('tells a package that is loaded from one that is imported', () => {
    const { imports, loads } = sourceOf(
      'src/connect.ts',
      `await optionalPeer<{ default: typeof import('pg') }>('pg'); await import('ioredis'); await import('./errors.ts')`,
    )
    expect({ imports, loads }).toEqual({ imports: ['src/errors.ts'], loads: ['pg', 'ioredis'] })
  })

  it.each([
    ['const at = Date.now()', 'Date.now'],
    ['const at = new Date()', 'Date'],
    ['const { now } = performance', 'performance'],
    ['const chance = Math.random', 'Math.random'],
    ['globalThis.setTimeout(task, 5)', 'setTimeout'],
    ['setImmediate(task)', 'setImmediate'],
    ['process.hrtime.bigint()', 'process.hrtime'],
    ['Atomics.wait(cell, 0, 0, 5)', 'Atomics.wait'],
    ['this.runtime.setTimer(task, 5, true)', 'setTimer'],
    [`import { setTimeout as sleep } from 'node:timers/promises'`, 'node:timers/promises'],
  ])('sees time or chance in %s', (text, use) => {
    expect(timesOf(sourceOf('src/core/lease/lease.ts', text))).toContain(use)
  })

  it.each([
    'const at = new Date(ms)',
    '// Date.now() would be wrong here',
    `throw new Error('Math.random is forbidden')`,
    'const options = { setTimeout: 5 }',
    'runtime.nowMs()',
  ])('sees none in %s', (text) => {
    expect(timesOf(sourceOf('src/core/lease/lease.ts', text))).toEqual([])
  })
})

/** How a file lets time and chance in: by globals, or by modules that hand them out. */
function timesOf({ uses, imports }: Source): string[] {
  return [...uses, ...imports.filter((name) => TIMERS_AND_CHANCE.includes(name))]
}

function trespasses({ path, imports }: Source): string[] {
  const room = roomOf(path)
  if (room === undefined) return []
  const own = instanceOf(room.inside, path)
  const allowed = [own, ...room.may]
  return imports
    .filter((name) => !allowed.some((may) => matches(may, name)))
    .map((name) => `${path} imports ${name}`)
}

function roomOf(path: string): Room | undefined {
  return ROOMS.find(({ inside }) => matches(inside, path))
}

/** The very folder that a pattern stands for in the case of this file, so that its neighbours stay outside. */
function instanceOf(inside: string, path: string): string {
  return inside.endsWith('/') ? (regexOf(inside).exec(path)?.[0] ?? inside) : inside
}

function matches(pattern: string, name: string): boolean {
  const found = regexOf(pattern).exec(name)
  return found !== null && (/[/:]$/.test(pattern) || found[0] === name)
}

/** `*` stands for one name. */
function regexOf(pattern: string): RegExp {
  const escaped = pattern.replaceAll(/[.+?^${}()|[]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replaceAll('*', '[^/]+')}`)
}
