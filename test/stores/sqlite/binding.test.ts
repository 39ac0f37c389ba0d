import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UnsupportedError } from 'holdfast'
import { expect, test } from 'vitest'
import { builtIn, fromPackage, loadBinding } from '../../../src/stores/sql/sqlite/binding.ts'
import { claimOf } from './claims.ts'
import { ask, Machine, tempFolder } from './world.ts'

const hasBuiltIn = Number(process.versions.node.split('.')[0]) >= 24

test('the SQLite of Node is preferred where there is one', () => {
  expect(loadBinding()).toBe(builtIn() ?? fromPackage())
  if (hasBuiltIn) expect(builtIn()).not.toBeNull()
})

test('without any SQLite the error says what to install', () => {
  const missing = () => {
    throw new Error("Cannot find module '@photostructure/sqlite'")
  }
  expect(() => fromPackage(missing)).toThrow(UnsupportedError)
  expect(() => fromPackage(missing)).toThrow(/npm install @photostructure\/sqlite$/)
})

test.each([
  ['the SQLite of Node', builtIn()],
  ['the package', fromPackage()],
])('a store works on %s', async (name, binding) => {
  if (binding === null) {
    expect(name, 'only Node itself may be without SQLite').toBe('the SQLite of Node')
    return
  }
  // Two SQLite libraries in one process would break each other's locks on one file, so each has its own.
  const store = new Machine(join(tempFolder(), 'locks.db')).open({ binding })
  const claim = claimOf('order:42')
  expect(await ask(store, claim)).toMatchObject({ kind: 'granted', contended: false })
  expect(await ask(store, claimOf('order:42'))).toMatchObject({ kind: 'blocked', position: 1 })
  expect(await store.release([claim])).toEqual([{ kind: 'released' }])
})

test('opening a store prints no warning, and leaves the warnings of others alone', () => {
  const path = join(tempFolder(), 'locks.db')
  const source = fileURLToPath(new URL('../../../src/stores/sql/sqlite/index.ts', import.meta.url))
  const script = `
    import { sqlite } from ${JSON.stringify(source)}
    sqlite(${JSON.stringify(path)}).close()
    process.on('warning', (warning) => console.log(warning.name + ': ' + warning.message))
    process.emitWarning('SQLite is mine', 'ExperimentalWarning')
  `
  const output = execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  expect(output).toBe('ExperimentalWarning: SQLite is mine\n')
})
