import { contended, type Line } from './contended.ts'
import { leases } from './leases.ts'
import { serverLimit } from './limit.ts'
import type { Measured } from './rounds.ts'
import type { Session } from './session.ts'
import type { Part } from './subject.ts'
import { type Lap, uncontended } from './uncontended.ts'

/** One after the other, and never the same key twice in a row. */
const SEQUENTIAL: Lap = { workload: 'Redis, one after the other', part: 'sequential', keys: 64, width: 1 }
const HUNDRED: Lap = { workload: 'Redis, 100 keys at once', part: 'keys', keys: 100, width: 100 }
const THOUSAND: Lap = { workload: 'Redis, 1,000 keys at once', part: 'keys', keys: 1_000, width: 1_000 }
const WAITERS: Line = {
  workload: 'Redis, 50 waiters in one process',
  part: 'waiters',
  processes: 1,
  waiters: 50,
  workMs: 0,
  lastsMs: 600,
  rounds: 3,
  warmUps: 0,
}
const STOCK: Line = {
  ...WAITERS,
  workload: 'Redis, 50 waiters in one process, as the libraries are set up by themselves',
  part: 'stock',
  rounds: 1,
}
// A round must be longer than the waits that are measured in it, some of which take most of a second.
const CROWDS: Line = {
  workload: 'Redis, 8 processes with 4 waiters each, 1 ms of work',
  part: 'processes',
  processes: 8,
  waiters: 4,
  workMs: 1,
  lastsMs: 2000,
  rounds: 3,
  warmUps: 1,
}
const LONERS: Line = {
  workload: 'Redis, 8 processes with 1 waiter each, 1 ms of work',
  part: 'processes',
  processes: 8,
  waiters: 1,
  workMs: 1,
  lastsMs: 2000,
  rounds: 3,
  warmUps: 1,
}

export const NAMES = {
  sequential: SEQUENTIAL.workload,
  hundred: HUNDRED.workload,
  thousand: THOUSAND.workload,
  waiters: WAITERS.workload,
  crowds: CROWDS.workload,
  loners: LONERS.workload,
  leases: 'Redis, 10,000 leases kept, ttl 3 s',
  limit: "Redis, the server's limit (redis-benchmark -P 16)",
} as const

export type Workload = (session: Session) => Promise<Measured>

/** Every workload, by the part of the benchmark that it belongs to. */
export const PARTS: Readonly<Record<Part, readonly Workload[]>> = {
  sequential: [(session) => uncontended(session, SEQUENTIAL)],
  keys: [
    (session) => uncontended(session, HUNDRED),
    (session) => uncontended(session, THOUSAND),
    (session) => serverLimit(session, NAMES.limit),
  ],
  waiters: [(session) => contended(session, WAITERS)],
  stock: [(session) => contended(session, STOCK)],
  processes: [(session) => contended(session, CROWDS), (session) => contended(session, LONERS)],
  leases: [(session) => leases(session, NAMES.leases)],
}
