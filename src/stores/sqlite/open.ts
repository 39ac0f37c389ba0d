import { dirname } from 'node:path'
import { checkFlag } from '../../core/check.ts'
import { nodeRuntime, type Runtime } from '../../core/runtime.ts'
import type { Store } from '../../core/store.ts'
import { type Binding, loadBinding } from './binding.ts'
import { type Boot, BootClock, thisBoot } from './boot.ts'
import { SqliteConnection } from './connection.ts'
import { type FileSystemProbe, requireSafeFileSystem, systemProbe } from './filesystem.ts'
import type { SqliteOptions } from './index.ts'
import { locate } from './location.ts'
import { SqliteStore } from './store.ts'

/** The parts of the machine that a store depends on; tests replace them. */
export interface Environment {
  readonly runtime?: Runtime
  readonly boot?: Boot
  readonly probe?: FileSystemProbe
  readonly binding?: Binding
}

export function openSqlite(options: SqliteOptions, surroundings: Environment = {}): Store {
  const { runtime = nodeRuntime, boot = thisBoot(runtime), probe = systemProbe } = surroundings
  const binding = surroundings.binding ?? loadBinding()
  const file = locate(options.path)
  if (!checkFlag('allowUnsafeFileSystem', options.allowUnsafeFileSystem, false))
    requireSafeFileSystem(dirname(file), probe)
  const clock = new BootClock(runtime, boot)
  return new SqliteStore(new SqliteConnection(binding, file, clock), clock, runtime)
}
