import type { CommandEntry } from './command.ts'

/** Every command, loaded when it is used. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'run',
    summary: 'run a command while holding a lock',
    load: async () => (await import('./run/command.ts')).run,
  },
  {
    name: 'ls',
    summary: 'list keys in use: who holds them, since when, who waits',
    load: async () => (await import('./ls.ts')).ls,
  },
  {
    name: 'show',
    summary: 'everything about one key: holders, queue, token',
    load: async () => (await import('./show.ts')).showCommand,
  },
  {
    name: 'evict',
    summary: 'take a key away from its holder',
    load: async () => (await import('./evict.ts')).evictCommand,
  },
  {
    name: 'top',
    summary: 'watch holders, ages and queues, live',
    load: async () => (await import('./top/command.ts')).top,
  },
  {
    name: 'doctor',
    summary: 'find what is wrong with locks, and the command that fixes it',
    load: async () => (await import('./doctor.ts')).doctor,
  },
  {
    name: 'reap',
    summary: 'remove what is certainly dead',
    load: async () => (await import('./reap.ts')).reapCommand,
  },
  {
    name: 'deadlocks',
    summary: 'draw who waits for whom in a circle',
    load: async () => (await import('./deadlocks.ts')).deadlocks,
  },
  {
    name: 'migrate',
    summary: 'make or print the tables of a PostgreSQL or MySQL store',
    load: async () => (await import('./migrate.ts')).migrate,
  },
  {
    name: 'demo',
    summary: 'watch a flash sale go wrong without locks and right with them',
    load: async () => (await import('./demo/command.ts')).demo,
  },
  {
    name: 'demo-worker',
    summary: 'one process of the demo',
    hidden: true,
    load: async () => (await import('./demo/worker.ts')).demoWorker,
  },
  {
    name: 'lab',
    summary: 'watch every generation of the Redis lock in the fault that breaks it',
    load: async () => (await import('../../lab/generations/command.ts')).lab,
  },
  {
    name: 'lab-worker',
    summary: 'one process of the lab',
    hidden: true,
    load: async () => (await import('../../lab/generations/processes/worker.ts')).labWorker,
  },
  {
    name: 'lab-racer',
    summary: 'one process of the race in the lab',
    hidden: true,
    load: async () => (await import('../../lab/generations/race/racer.ts')).labRacer,
  },
]

export function commandNames(): string[] {
  return COMMANDS.filter((entry) => !entry.hidden).map((entry) => entry.name)
}
