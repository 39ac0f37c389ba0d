import { Redis } from 'ioredis'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { FakeClock } from './fake-clock.ts'
import { operation, serverKill, serverPause } from './process.ts'
import type { StartWorld } from './world.ts'

/** One server that writes through. */
export const redis: StartWorld = async (seed) => {
  const clock = FakeClock.of(seed)
  const server = await startRedis({ persistent: true, ...(clock && { environment: clock.environment }) })
  const operator = operatorOf(server.port)
  const name = 'server'
  return {
    ports: [server.port],
    urlBy: ([port]) => `redis://127.0.0.1:${port}`,
    nemeses: [
      serverKill(() => ({ name, kill: () => server.kill(), start: () => server.start() })),
      serverPause(() => ({ name, pids: () => [server.pid] })),
      operation('connections killed', (random) =>
        killConnections(operator, random.pick(KINDS_OF_CONNECTIONS)),
      ),
      operation('script flush', () => operator.script('FLUSH')),
      operation('flush', () => operator.flushall()),
      ...(clock === null ? [] : [clock.nemesis()]),
    ],
    async stop() {
      operator.disconnect()
      await server.stop()
      clock?.remove()
    },
  }
}

export const KINDS_OF_CONNECTIONS = [['normal'], ['pubsub'], ['normal', 'pubsub']] as const

/** A connection that finds a server again that was gone. */
export function operatorOf(port: number): Redis {
  const operator = new Redis(port, { retryStrategy: () => 20, maxRetriesPerRequest: null })
  operator.on('error', () => {})
  return operator
}

export async function killConnections(operator: Redis, types: readonly string[]): Promise<string> {
  for (const type of types) await operator.call('CLIENT', ['KILL', 'TYPE', type, 'SKIPME', 'yes'])
  return types.join(' and ')
}
