import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UnsupportedError } from 'holdfast'
import { expect, test } from 'vitest'
import { type Binding, builtIn, fromPackage, loadBinding } from '../../../src/stores/sqlite/binding.ts'
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

test('a store works on the SQLite of Node', async ({ skip }) => {
  const binding = builtIn()
  if (binding === null) skip(`Node ${process.versions.node} has no SQLite of its own`)
  else await useStore(binding)
})

test('a store works on the package', () => useStore(fromPackage()))

// Two SQLite libraries in one process would break each other's locks on one file, so each has its own.
async function useStore(binding: Binding): Promise<void> {
  const store = new Machine().open({ binding })
  const claim = claimOf('order:42')
  expect(await ask(store, claim)).toMatchObject({ kind: 'granted', contended: false })
  expect(await ask(store, claimOf('order:42'))).toMatchObject({ kind: 'blocked', position: 1 })
  expect(await store.release([claim])).toEqual([{ kind: 'released' }])
}

test('opening a store prints no warning, and leaves the warnings of others alone', () => {
  const path = join(tempFolder(), 'locks.db')
  const source = fileURLToPath(new URL('../../../src/stores/sqlite/index.ts', import.meta.url))
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
