import type { Nemesis } from '../nemeses.ts'

/** The servers of a store, and what can happen to them. */
export interface World {
  /** Where clients connect, each by a proxy of every worker; empty where there is no network. */
  readonly ports: readonly number[]
  /** True if servers tell their clients where others are, by addresses of their own. */
  readonly tells?: boolean
  /** The URL of a client whose way to the servers is by these ports. */
  urlBy(ports: readonly number[]): string
  readonly nemeses: readonly Nemesis[]
  stop(): Promise<void>
}

/** Starts the servers. The seed may choose between kinds of faults that must not come together. */
export type StartWorld = (seed: number) => Promise<World>
