/** What a worker is told when it is started. */
export interface WorkerOrder {
  readonly name: string
  readonly url: string
  /** Where its part of the history goes. */
  readonly folder: string
  /** Where the resource listens. */
  readonly socket: string
  readonly seed: number
}
