import { LONGEST_FAILOVER_MS } from './settings.ts'

/** The expectations of a store under faults. */
export interface Expectations {
  /** Kinds of faults after which a second holder may come in while the first lease is valid, each with the reason. */
  readonly weaknesses: Readonly<Record<string, string>>
  /** How long the servers need to agree on a new leader or master, beyond what a lease needs to run out. */
  readonly failoverMs: number
  /** True if the line is served in its order. */
  readonly fifo: boolean
}

export type StoreName = keyof typeof EXPECTATIONS

const CLOCK = 'expiry counts on the wall clock of the server, and a jump of it ends holds early'
const FORGETS = 'what the server kept in memory alone is gone, and with it the holds'
const LAGS = 'replication is asynchronous, so that the next master may lack the last grants and renewals'

/** Tokens rise, and stale writes are refused, on every store whatever its weaknesses: there is no setting for that. */
export const EXPECTATIONS = {
  redis: { weaknesses: { flush: FORGETS, 'clock jump': CLOCK }, failoverMs: 0, fifo: true },
  sqlite: { weaknesses: {}, failoverMs: 0, fifo: true },
  postgres: { weaknesses: { 'clock jump': CLOCK }, failoverMs: 0, fifo: true },
  mysql: { weaknesses: { 'clock jump': CLOCK }, failoverMs: 0, fifo: true },
  etcd: { weaknesses: {}, failoverMs: LONGEST_FAILOVER_MS, fifo: true },
  zookeeper: { weaknesses: {}, failoverMs: LONGEST_FAILOVER_MS, fifo: true },
  quorum: {
    weaknesses: {
      'empty restart': 'a server that comes back without its memory votes again',
      'clock jump': CLOCK,
    },
    failoverMs: 0,
    fifo: false,
  },
  sentinel: {
    weaknesses: { 'server kill': LAGS, 'server pause': LAGS, failover: LAGS },
    failoverMs: LONGEST_FAILOVER_MS,
    fifo: true,
  },
  cluster: {
    weaknesses: { 'server kill': LAGS, 'server pause': LAGS, failover: LAGS },
    failoverMs: LONGEST_FAILOVER_MS,
    fifo: true,
  },
} satisfies Record<string, Expectations>

export const STORES = Object.keys(EXPECTATIONS) as StoreName[]
