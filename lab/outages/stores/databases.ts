import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import type { DatabaseServer } from '../../../scripts/servers/database.ts'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import { networkFaults, type Process, roadsTo, serverFaults } from '../faults.ts'
import { type Fault, type World, worldOf } from '../world.ts'

const NOT_TRIED = { full: 'needs a disk of its own' }

export async function postgres(): Promise<World> {
  const server = await startPostgres()
  const set = async (value: 'on' | 'off'): Promise<void> => {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    await client.query('SET default_transaction_read_only = off')
    await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
    await client.query('SELECT pg_reload_conf()')
    await client.end()
  }
  return database(server, beginPostgres, {
    name: 'read-only',
    start: () => set('on'),
    heal: () => set('off'),
  })
}

export async function mysql(): Promise<World> {
  const server = await startMariadb()
  // Root may write to a server that is read-only; applications may not.
  const application = 'holdfast'
  const ask = async (...statements: readonly string[]): Promise<void> => {
    const connection = await createConnection(server.url)
    for (const statement of statements) await connection.query(statement)
    await connection.end()
  }
  await ask(`CREATE USER ${application}@'%'`, `GRANT ALL ON holdfast.* TO ${application}@'%'`)
  return database(
    server,
    beginMysql,
    {
      name: 'read-only',
      start: () => ask('SET GLOBAL read_only = ON'),
      heal: () => ask('SET GLOBAL read_only = OFF'),
    },
    (url) => url.replace('root@', `${application}@`),
  )
}

async function database(
  server: DatabaseServer & { readonly url: string; start(): Promise<void> },
  begin: Begin,
  readOnly: Fault,
  login: (url: string) => string = (url) => url,
): Promise<World> {
  const roads = await roadsTo([server.port])
  const process: Process = {
    pids: () => [server.pid, ...childrenOf(server.pid)],
    kill: () => server.kill(),
    start: () => server.start(),
  }
  const url = login(server.url.replace(`:${server.port}/`, `:${roads[0]?.port}/`))
  return worldOf(url, {
    faults: [...serverFaults([process]), ...networkFaults(roads), readOnly],
    notTried: NOT_TRIED,
    begin,
    async stop() {
      for (const road of roads) road.close()
      await server.stop()
    },
  })
}

type Begin = NonNullable<World['begin']>

/** The library cannot end a connection that does not answer; its socket can. */
const beginPostgres: Begin = async (url, over) => {
  const socket = new Socket()
  const client = new pg.Client({ connectionString: url, stream: () => socket })
  client.on('error', () => {})
  over.addEventListener('abort', () => socket.destroy())
  await client.connect()
  await client.query('BEGIN')
  return client
}

const beginMysql: Begin = async (url, over) => {
  const connection = await createConnection(url)
  connection.on('error', () => {})
  over.addEventListener('abort', () => connection.destroy())
  await connection.query('BEGIN')
  return connection
}

/** The processes that serve the connections of PostgreSQL. */
function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return text === '' ? [] : text.split(' ').map(Number)
}
