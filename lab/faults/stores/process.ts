import type { Random } from '../../simulation/random.ts'
import type { Nemesis } from '../nemeses.ts'
import { TTL_MS } from '../settings.ts'

/** A server that can be killed and started again with its data. */
export interface Killable {
  readonly name: string
  kill(): Promise<void>
  start(): Promise<void>
}

/** A server that can stand still. */
export interface Pausable {
  readonly name: string
  readonly pids: () => readonly number[]
}

/** One of some servers dies and comes back with its data. */
export function serverKill(choose: (random: Random) => Promise<Killable> | Killable): Nemesis {
  return {
    kind: 'server kill',
    lastsMs: [0, TTL_MS],
    async strike(random) {
      const server = await choose(random)
      await server.kill()
      return { target: server.name, heal: () => server.start() }
    },
  }
}

/** From a hiccup to an outage in which every lease ends and every call is given up. */
export const PAUSE_MS = [TTL_MS * 0.2, TTL_MS * 4] as const

/** One of some servers stands still, its connections open. */
export function serverPause(choose: (random: Random) => Promise<Pausable> | Pausable): Nemesis {
  return {
    kind: 'server pause',
    lastsMs: PAUSE_MS,
    async strike(random) {
      const { name, pids } = await choose(random)
      const stopped = pids()
      for (const pid of stopped) process.kill(pid, 'SIGSTOP')
      return {
        target: name,
        heal() {
          for (const pid of stopped) process.kill(pid, 'SIGCONT')
        },
      }
    },
  }
}

/** Something that an operator does, and that is over at once; it may say what it was done to. */
export function operation(kind: string, act: (random: Random) => Promise<unknown>): Nemesis {
  return {
    kind,
    lastsMs: [0, 0],
    async strike(random) {
      const told = await act(random)
      const target = typeof told === 'string' && told !== 'OK' ? told : 'server'
      return { target, heal: () => {} }
    },
  }
}
