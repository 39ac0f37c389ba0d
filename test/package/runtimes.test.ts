import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bun, deno, nodeBinary } from '../../scripts/runtimes.mjs'
import { type RedisServer, startRedis } from '../../scripts/servers/redis.ts'
import { Consumer, execute, linkClients } from './install.ts'
import { LOCKED, PROGRAMS, writePrograms } from './program.ts'

/** Runs CommonJS as Jest does: every module in a function that was compiled without a way to `import()`. */
const SANDBOX = `
const { readFileSync } = require('node:fs')
const Module = require('node:module')
const { dirname } = require('node:path')
const { compileFunction } = require('node:vm')
Module._extensions['.cjs'] = (module, file) => {
  const names = ['exports', 'require', 'module', '__filename', '__dirname']
  const load = Module.createRequire(file)
  compileFunction(readFileSync(file, 'utf8'), names)(module.exports, load, module, file, dirname(file))
}
process.argv.splice(1, 1)
require(require('node:path').resolve(process.argv[1]))
`

const WAYS: readonly { name: string; command: () => readonly [string, ...string[]] }[] = [
  { name: 'this Node', command: () => ['node'] },
  { name: 'Node 22', command: () => [nodeBinary(22)] },
  { name: 'Node 24', command: () => [nodeBinary(24)] },
  { name: 'Bun', command: () => [bun()] },
  { name: 'Deno', command: () => [deno(), 'run', '--allow-all', '--quiet'] },
]

const consumer = new Consumer()
let server: RedisServer
let stores: readonly string[]

beforeAll(async () => {
  await consumer.install()
  writePrograms(consumer)
  consumer.write('sandbox.cjs', SANDBOX)
  linkClients(consumer.folder)
  server = await startRedis()
  stores = [server.url, `sqlite:${join(consumer.folder, 'locks.db')}`]
}, 120_000)

afterAll(async () => {
  consumer.remove()
  await server.stop()
})

describe.each(WAYS)('on $name', ({ command }) => {
  it.each(Object.entries(PROGRAMS))(
    'locks in memory, Redis and SQLite by %s',
    async (_way, file) => {
      const [binary, ...args] = command()
      expect(await run(binary, ...args, file)).toEqual({ memory: LOCKED, redis: LOCKED, sqlite: LOCKED })
    },
    60_000,
  )
})

it('loads clients in CommonJS where import() is not available, as in Jest', async () => {
  const found = await run('node', 'sandbox.cjs', PROGRAMS.require)
  expect(found).toEqual({ memory: LOCKED, redis: LOCKED, sqlite: LOCKED })
})

async function run(command: string, ...args: readonly string[]): Promise<unknown> {
  const environment = { DENO_DIR: join(consumer.folder, '.deno'), DENO_NO_UPDATE_CHECK: '1' }
  const { code, stdout, stderr } = await execute(consumer.folder, command, [...args, ...stores], environment)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}
