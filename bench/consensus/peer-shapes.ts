// The part of other libraries that is used; they are loaded by a name that no compiler sees.

interface Etcd3Lock {
  ttl(seconds: number): Etcd3Lock
  acquire(): Promise<unknown>
  release(): Promise<unknown>
}

export interface Etcd3Module {
  readonly Etcd3: new (options: {
    hosts: readonly string[]
  }) => {
    lock(key: string): Etcd3Lock
    close(): void
  }
  readonly EtcdLockFailedError: new (message: string) => Error
}

export interface NativeZooKeeper {
  once(event: 'connect', listener: () => void): void
  init(config: object): void
  create(path: string, data: string, flags: number): Promise<string>
  get_children(path: string, watch: boolean): Promise<string[]>
  w_exists(path: string, watcher: () => void): Promise<unknown>
  delete_(path: string, version: number): Promise<unknown>
  close(): void
}

export interface ZooKeeperModule {
  readonly ZOO_EPHEMERAL: number
  readonly ZOO_SEQUENCE: number
  new (config: { connect: string; timeout: number; debug_level: number }): NativeZooKeeper
}
