import { Road } from './road.ts'
import { RESTART_MS } from './settings.ts'
import type { Fault } from './world.ts'

/** Servers of a store that can be stopped for a while. */
export interface Process {
  pids(): readonly number[]
  kill(): Promise<void>
  start(): Promise<void>
}

export function frozen(name: string, pids: () => Promise<readonly number[]> | readonly number[]): Fault {
  let stopped: readonly number[] = []
  return {
    name,
    async start() {
      stopped = await pids()
      for (const pid of stopped) process.kill(pid, 'SIGSTOP')
    },
    heal() {
      for (const pid of stopped) process.kill(pid, 'SIGCONT')
      stopped = []
    },
  }
}

/** Every server at once. */
export function serverFaults(servers: readonly Process[]): Fault[] {
  return [
    frozen('frozen', () => servers.flatMap((server) => server.pids())),
    {
      name: 'restarted',
      lastsMs: RESTART_MS,
      start: () => all(servers, (server) => server.kill()),
      heal: () => all(servers, (server) => server.start()),
    },
  ]
}

/** The ways to the servers at once. */
export function networkFaults(roads: readonly Road[]): Fault[] {
  const heal = () => all(roads, (road) => road.heal())
  const fault = (name: string, strike: (road: Road) => void): Fault => ({
    name,
    start: () => roads.forEach(strike),
    heal,
  })
  return [
    fault('silent after accept', (road) => road.silence()),
    fault('connections cut', (road) => road.cut()),
    { ...fault('connections silent', (road) => road.strand()), stays: true },
  ]
}

/** One of several servers, the one that the others follow where there is one. */
export function oneFrozen(pids: () => Promise<readonly number[]> | readonly number[]): Fault {
  return { ...frozen('one server frozen', pids), stays: true }
}

export function roadsTo(ports: readonly number[]): Promise<Road[]> {
  return Promise.all(ports.map((port) => Road.to(port)))
}

export async function all<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> {
  await Promise.all(items.map(act))
}
