import { InvalidArgumentError } from 'holdfast'
import { expect, test } from 'vitest'
import { sqliteOptionsOf } from '../../../src/stores/sqlite/url.ts'

test.each([
  ['sqlite:./locks.db', { path: './locks.db' }],
  ['sqlite:locks.db', { path: 'locks.db' }],
  ['sqlite:../a/locks.db', { path: '../a/locks.db' }],
  ['sqlite:/var/lib/locks.db', { path: '/var/lib/locks.db' }],
  ['sqlite:///var/lib/locks.db', { path: '/var/lib/locks.db' }],
  ['file:./locks.db', { path: './locks.db' }],
  ['file:///var/lib/locks.db', { path: '/var/lib/locks.db' }],
  ['file://localhost/var/lib/locks.db', { path: '/var/lib/locks.db' }],
  ['FILE:/var/lib/locks.db', { path: '/var/lib/locks.db' }],
  ['sqlite:./my%20locks%23%3F%25.db', { path: './my locks#?%.db' }],
  ['sqlite:./l%C3%A5s.db', { path: './lås.db' }],
  ['sqlite:./locks.db?allowUnsafeFileSystem=1', { path: './locks.db', allowUnsafeFileSystem: true }],
  ['sqlite:./locks.db?allowUnsafeFileSystem=false', { path: './locks.db', allowUnsafeFileSystem: false }],
])('%s', (url, options) => {
  expect(sqliteOptionsOf(url)).toEqual(options)
})

test.each([
  ['redis://localhost', 'must begin with sqlite: or file:'],
  ['sqlite:', 'has no path'],
  ['sqlite://', 'has no path'],
  ['sqlite://locks/a.db', 'write a relative path as sqlite:./locks/a.db'],
  ['sqlite:./a.db#b', 'must not have a fragment'],
  ['sqlite:./100%.db', 'write % as %25'],
  ['sqlite:./a.db?mode=ro', 'has an unknown parameter "mode"'],
  ['sqlite:./a.db?allowUnsafeFileSystem=yes', 'must be 1, 0, true or false'],
])('%s is refused', (url, problem) => {
  expect(() => sqliteOptionsOf(url)).toThrow(InvalidArgumentError)
  expect(() => sqliteOptionsOf(url)).toThrow(problem)
})
