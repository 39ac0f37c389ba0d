import mysql2 from 'mysql2/promise'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { FakeClock } from './fake-clock.ts'
import { operation, serverKill, serverPause } from './process.ts'
import type { StartWorld } from './world.ts'

/** One MariaDB server that waits for the disk. */
export const mysql: StartWorld = async (seed) => {
  const clock = FakeClock.of(seed)
  const server = await startMariadb({ durable: true, ...(clock && { environment: clock.environment }) })
  const ask = async (work: (operator: mysql2.Connection) => Promise<void>): Promise<void> => {
    const operator = await mysql2.createConnection(server.url)
    operator.on('error', () => {})
    try {
      await work(operator)
    } finally {
      operator.destroy()
    }
  }
  const end = (how: 'CONNECTION' | 'QUERY', every: number) => async (operator: mysql2.Connection) => {
    const list =
      'SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND db IS NOT NULL'
    const [rows] = await operator.query(list)
    for (const [place, { id }] of (rows as { id: number }[]).entries())
      if (place % every === 0) await operator.query(`KILL ${how} ${id}`).catch(() => {})
  }
  const name = 'server'
  return {
    ports: [server.port],
    urlBy: ([port]) => `mysql://root@127.0.0.1:${port}/holdfast`,
    nemeses: [
      serverKill(() => ({ name, kill: () => server.kill(), start: () => server.start() })),
      {
        ...serverKill(() => ({ name, kill: () => server.shutDown(), start: () => server.start() })),
        kind: 'server restart',
      },
      serverPause(() => ({ name, pids: () => [server.pid] })),
      operation('connections killed', (random) => ask(end('CONNECTION', random.pick([1, 3])))),
      operation('statements cancelled', () => ask(end('QUERY', 1))),
      operation('tables flushed', () => ask(async (operator) => void (await operator.query('FLUSH TABLES')))),
      ...(clock === null ? [] : [clock.nemesis()]),
    ],
    async stop() {
      await server.stop()
      clock?.remove()
    },
  }
}
