/** The order to a worker at its start. */
export interface WorkerOrder {
  readonly name: string
  readonly url: string
  /** Where the addresses that servers tell their clients are to be found, for this worker. */
  readonly addresses: Addresses | null
  /** Where its part of the history goes. */
  readonly folder: string
  /** Where the resource listens. */
  readonly socket: string
  readonly seed: number
}

export type Addresses = Readonly<Record<string, { readonly host: string; readonly port: number }>>
