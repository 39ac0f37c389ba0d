import { readFileSync } from 'node:fs'
import pg from 'pg'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import { FakeClock } from './fake-clock.ts'
import { operation, serverKill, serverPause } from './process.ts'
import type { StartWorld } from './world.ts'

/** One server that waits for the disk. */
export const postgres: StartWorld = async (seed) => {
  const clock = FakeClock.of(seed)
  const server = await startPostgres({ durable: true, ...(clock && { environment: clock.environment }) })
  /** A connection of its own each time: the server comes and goes. */
  const ask = async (text: string, values: unknown[] = []): Promise<void> => {
    const client = new pg.Client({ connectionString: server.url, application_name: 'operator' })
    client.on('error', () => {})
    await client.connect()
    try {
      await client.query(text, values)
    } finally {
      await client.end()
    }
  }
  const name = 'server'
  const others =
    'FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL AND random() < $1'
  return {
    ports: [server.port],
    urlBy: ([port]) => `postgres://postgres@127.0.0.1:${port}/postgres`,
    nemeses: [
      serverKill(() => ({ name, kill: () => server.kill(), start: () => server.start() })),
      {
        ...serverKill(() => ({ name, kill: () => server.shutDown(), start: () => server.start() })),
        kind: 'server restart',
      },
      serverPause(() => ({ name, pids: () => [server.pid, ...childrenOf(server.pid)] })),
      operation('connections killed', (random) =>
        ask(`SELECT pg_terminate_backend(pid) ${others}`, [random.pick([0.3, 1])]),
      ),
      operation('statements cancelled', () => ask(`SELECT pg_cancel_backend(pid) ${others}`, [1])),
      operation('checkpoint', () => ask('CHECKPOINT')),
      ...(clock === null ? [] : [clock.nemesis()]),
    ],
    async stop() {
      await server.stop()
      clock?.remove()
    },
  }
}

/** The processes that serve the connections. */
function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return text === '' ? [] : text.split(' ').map(Number)
}
