/** The other libraries as far as they are used, so that the project type-checks without them. */
export type Redlock4Constructor = new (clients: readonly object[], settings: object) => Redlock4

export interface Redlock4 {
  lock(key: string, ttlMs: number): Promise<{ unlock(): Promise<unknown> }>
}

export type Redlock5Constructor = new (clients: readonly object[], settings: object) => Redlock5

export interface Redlock5 {
  acquire(keys: string[], ttlMs: number): Promise<{ release(): Promise<unknown> }>
  using(keys: string[], ttlMs: number, routine: Routine): Promise<unknown>
  on(event: 'error', listener: (error: Error) => void): unknown
}

type Routine = (signal: { readonly aborted: boolean }) => Promise<void>

export interface RedisSemaphoreModule {
  Mutex: new (
    client: object,
    key: string,
    options: object,
  ) => { readonly isAcquired: boolean; acquire(): Promise<void>; release(): Promise<void> }
}

export interface VerrouModule {
  LockFactory: new (
    store: object,
    options: object,
  ) => { createLock(key: string, ttlMs: number): { acquire(): Promise<boolean>; release(): Promise<void> } }
}

export interface VerrouDriverModule {
  redisStore(options: object): { factory(): object }
}

export interface UniversalModule {
  IoredisAdapter: new (client: object) => object
  NodeRedisAdapter: new (client: object) => object
  createLock(options: object): {
    acquire(): Promise<object>
    release(handle: object): Promise<boolean>
    using(routine: Routine): Promise<unknown>
  }
}

export interface LiveMutexModule {
  Client: new (
    options: object,
  ) => {
    readonly emitter: { on(event: 'warning', listener: () => void): unknown }
    ensure(): Promise<unknown>
    acquire(key: string): Promise<{ readonly id: string }>
    release(key: string, options: { readonly id: string }): Promise<unknown>
    close(): void
  }
  Broker: new (options: object) => { ensure(): Promise<unknown>; close(done: () => void): void }
}
