import type { Runtime } from '../../src/core/runtime.ts'
import type { Store } from '../../src/core/store.ts'
import type { KeyView } from '../../src/model/index.ts'
import type { Host } from './host.ts'
import type { Call } from './plan.ts'
import type { ProtocolChecker } from './protocol-checker.ts'

/** A client's side of the store. */
export interface ClientStore extends Store {
  /** Nothing of it is left open. */
  readonly isClosed: boolean
}

/** The backend of a world: one server, or several that vote. */
export interface Backend {
  open(client: string, inbox: string, host: Host, runtime: Runtime, checker: ProtocolChecker): ClientStore
  /** The network's links of a client, to one node or to all. */
  links(client: string, node: number | undefined): readonly string[]
  /** Gone for a while, with its memory or without. */
  crash(untilUs: number, loss: boolean, node: number | undefined): void
  freeze(untilUs: number, node: number | undefined): void
  /** Refuses claims, and takes renewals and releases. */
  full?(untilUs: number): void
  /** Of the next call with several claims, the outcome of one stays unknown. */
  doubt?(call: Call, member: number, done: boolean): void
  /** The wall clock that stamps tokens jumps. */
  jump(byMs: number, node: number | undefined): void
  heal(): void
  /** The holds and waits of this moment. */
  inUse(): KeyView[]
}
