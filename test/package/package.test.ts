import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { BUILT, Consumer } from './install.ts'

const USE = `
const began = performance.now()
LOAD
const tookMs = performance.now() - began
async function main() {
  const locks = createLocks()
  const result = await locks.using('order:42', (lease) => typeof lease.token)
  await locks.close()
  let error
  try { sqlite({ path: '' }) } catch (thrown) { error = thrown }
  const missing = await connect('redis://127.0.0.1:1').catch(({ code, message }) => code + ': ' + message)
  console.log(JSON.stringify({ result, sameErrors: error instanceof LockError, missing, tookMs }))
}
main()
`

describe('the package, installed without the network and without any optional peer', () => {
  const consumer = new Consumer()

  beforeAll(() => consumer.install(), 120_000)
  afterAll(() => consumer.remove())

  it('brings nothing else along', () => {
    const installed = readdirSync(join(consumer.folder, 'node_modules')).filter(
      (name) => !name.startsWith('.'),
    )
    expect(installed).toEqual(['holdfast'])
  })

  it('holds the code, its types and the licence, and no source or test', () => {
    const outside = consumer.files.filter((file) => !file.startsWith('dist/'))
    expect(outside).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']))
    expect(consumer.files.filter((file) => /^(?:src|test|lab|bench|scripts)\//.test(file))).toEqual([])
    expect(consumer.files).toEqual(expect.arrayContaining(BUILT))
  })

  it.each([
    [
      'import',
      'use.mjs',
      `const { connect, createLocks, LockError } = await import('holdfast'); const { sqlite } = await import('holdfast/sqlite')`,
    ],
    [
      'require',
      'use.cjs',
      `const { connect, createLocks, LockError } = require('holdfast'); const { sqlite } = require('holdfast/sqlite')`,
    ],
  ])('works by %s', async (way, file, load) => {
    consumer.write(file, USE.replace('LOAD', load))
    const { code, stdout, stderr } = await consumer.node(file)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const { tookMs, ...found } = JSON.parse(stdout) as { tookMs: number }
    console.log(`holdfast and holdfast/sqlite by ${way}: ${tookMs.toFixed(1)} ms`)
    expect(found).toEqual({
      result: 'bigint',
      sameErrors: true,
      missing: expect.stringMatching(/^UNSUPPORTED: .*npm install ioredis/),
    })
  })

  it('declares nothing in terms of a client', () => {
    const folder = join(consumer.folder, 'node_modules/holdfast')
    const declarations = consumer.files.filter((file) => /\.d\.c?ts$/.test(file))
    expect(declarations.length).toBeGreaterThan(0)
    const foreign = declarations.flatMap((file) =>
      modulesOf(readFileSync(join(folder, file), 'utf8'))
        .filter((name) => !/^(?:\.|node:)/.test(name))
        .map((name) => `${file}: ${name}`),
    )
    expect(foreign).toEqual([])
  })

  it('puts the command on the path', async () => {
    const { code, stdout } = await consumer.node('node_modules/.bin/holdfast', '--version')
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${packageJson.version}\n` })
    expect(existsSync(join(consumer.folder, 'node_modules/.bin/holdfast'))).toBe(true)
  })
})

/** The imports of a declaration file, written in any way. */
function modulesOf(text: string): string[] {
  const ways = [
    /\bfrom\s*["']([^"']+)["']/g,
    /\bimport\s*\(?\s*["']([^"']+)["']/g,
    /<reference types=["']([^"']+)["']/g,
  ]
  return ways.flatMap((way) => [...text.matchAll(way)].map((match) => match[1] as string))
}

it.each([
  [`import { Redis } from "ioredis";`, 'ioredis'],
  [`type A = import('pg').Client`, 'pg'],
  [`import "etcd3";`, 'etcd3'],
  [`/// <reference types="mysql2" />`, 'mysql2'],
])('the check sees the client in %s', (text, name) => {
  expect(modulesOf(text)).toContain(name)
})
