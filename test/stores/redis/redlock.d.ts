/** As far as it is used: the package has types, but its exports do not lead to them. */
declare module 'redlock' {
  export interface Lock {
    release(): Promise<unknown>
  }

  export default class Redlock {
    constructor(clients: readonly object[], settings: { retryCount: number })
    acquire(resources: string[], durationMs: number): Promise<Lock>
  }
}
