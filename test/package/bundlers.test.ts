import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../../scripts/servers/redis.ts'
import { BUNDLERS } from './bundle.ts'
import { Consumer, execute, linkClients, ROOT } from './install.ts'
import { LOCKED, PROGRAMS, writePrograms } from './program.ts'

const consumer = new Consumer()
/** Where a bundle runs: the package is not installed here, only clients are. */
const deployed = mkdtempSync(join(tmpdir(), 'holdfast-deployed-'))
let server: RedisServer

beforeAll(async () => {
  await consumer.install()
  writePrograms(consumer)
  linkClients(deployed)
  server = await startRedis()
}, 120_000)

afterAll(async () => {
  consumer.remove()
  rmSync(deployed, { recursive: true, force: true })
  await server.stop()
})

describe.each(BUNDLERS)('a program that $name bundles', ({ name, by, program, bundle }) => {
  const folder = name.replace(/\W+/g, '-')

  it('is made without complaint where no client is installed, and locks', async () => {
    const made = join(consumer.folder, folder)
    mkdirSync(made)
    const complaints = await bundle(
      join(consumer.folder, PROGRAMS[by]),
      made,
      join(consumer.folder, 'node_modules/holdfast'),
    )
    expect(complaints).toEqual([])
    expect(await run(consumer.folder, 'redis://127.0.0.1:1')).toEqual({
      memory: LOCKED,
      redis: expect.stringMatching(/^UNSUPPORTED: .*npm install ioredis.* redis\(\) of holdfast\/redis/),
    })
  })

  it('loads the clients that are installed where it runs', async () => {
    cpSync(join(consumer.folder, folder), join(deployed, folder), { recursive: true })
    const file = `sqlite:${join(deployed, folder, 'locks.db')}`
    expect(await run(deployed, server.url, file)).toEqual({ memory: LOCKED, redis: LOCKED, sqlite: LOCKED })
  })

  async function run(root: string, ...urls: readonly string[]): Promise<unknown> {
    const { code, stdout, stderr } = await execute(root, 'node', [join(folder, program), ...urls])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return JSON.parse(stdout)
  }
})

const OWN_CLIENTS = `
import { createLocks } from 'holdfast'
import { postgres } from 'holdfast/postgres'
import { redis } from 'holdfast/redis'
import { Redis } from 'ioredis'
import postgresJs from 'postgres'
async function main() {
  const client = new Redis(process.argv[2])
  const locks = createLocks({ store: redis(client) })
  const token = await locks.using('order:42', ({ token }) => typeof token)
  await locks.close()
  client.disconnect()
  const sql = createLocks({ store: postgres(postgresJs('postgres://127.0.0.1:1/none')) })
  const refused = await sql.acquire('order:42').catch(({ message }) => message)
  await sql.close()
  console.log(JSON.stringify({ token, refused }))
}
main()
`

it('a client that the program makes goes into the bundle, except for postgres.js, which says so', async () => {
  consumer.write('own.mjs', OWN_CLIENTS)
  await build({
    entryPoints: [join(consumer.folder, 'own.mjs')],
    outfile: join(consumer.folder, 'own.bundle.cjs'),
    nodePaths: [join(ROOT, 'node_modules')],
    bundle: true,
    platform: 'node',
  })
  const { stdout, stderr } = await execute(consumer.folder, 'node', ['own.bundle.cjs', server.url])
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual({
    token: 'bigint',
    refused: expect.stringMatching(/postgres\.js.*keep it out of the bundle/),
  })
})
