import { checkOptions, checkRuntime, hasMethods, type NamesOf } from '../../core/check.ts'
import { show } from '../../core/durations.ts'
import type { Runtime } from '../../core/runtime.ts'
import type { Admin, Records, Store, Traits } from '../../core/store.ts'
import { InvalidArgumentError } from '../../errors.ts'
import {
  alive,
  conditionHolds,
  isInUse,
  type RecordCondition,
  releaseOf,
  renewOf,
  step,
  takeFromRecord,
  viewOf,
  writtenRecord,
} from '../../model/index.ts'
import { MemoryWorld } from './world.ts'

export interface MemoryOptions {
  /** Stores of one world see each other's claims; by default every store is a world of its own. */
  world?: MemoryWorld
  runtime?: Runtime
}

const OPTIONS: NamesOf<MemoryOptions> = { world: true, runtime: true }

const TRAITS: Traits = {
  name: 'memory',
  modes: ['exclusive', 'shared', 'permits'],
  order: 'fifo',
  fencing: 'strict',
  ttlStepMs: 1,
  adoption: true,
  owners: true,
  lockDelay: true,
  groups: true,
  records: true,
  wakeUp: 'push',
  immediate: true,
  scope: 'one process; not its workers, not its children',
  failover: 'the claims end with the process that made them',
}

/** A world that several memory stores can share, as several processes share a server. */
export function memoryWorld(runtime?: Runtime): MemoryWorld {
  return new MemoryWorld(checkRuntime(runtime))
}

/** The shortest store and the reference: the model itself. */
export function memory(options: MemoryOptions = {}): Store {
  const world = worldOf(options)
  const inbox = world.newInbox()
  return {
    traits: TRAITS,
    attempt: (claims) => world.claim(claims, inbox),
    renew(claims) {
      const clock = world.clock()
      return claims.map((claim) => world.step(claim.key, renewOf(claim), clock))
    },
    release(claims) {
      const clock = world.clock()
      return claims.map((claim) => world.step(claim.key, releaseOf(claim), clock))
    },
    notices(listener) {
      const listeners = world.listeners.get(inbox) ?? new Set()
      world.listeners.set(inbox, listeners)
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    admin: adminOf(world),
    records: recordsOf(world),
    close() {
      world.listeners.delete(inbox)
    },
  }
}

function worldOf(options: MemoryOptions): MemoryWorld {
  const { world, runtime } = checkOptions('options', options, OPTIONS)
  if (world === undefined) return new MemoryWorld(checkRuntime(runtime))
  if (!hasMethods(world, ['newInbox', 'step']))
    throw new InvalidArgumentError('world', `must be what memoryWorld() makes, not ${show(world)}`)
  return world
}

function adminOf(world: MemoryWorld): Admin {
  const read = (key: string) => {
    const clock = world.clock()
    return viewOf(key, step(world.get(key), { kind: 'tick' }, clock, world.rules).state, clock.nowMs)
  }
  return {
    read,
    async *list(prefix) {
      for (const key of world.keys()) {
        if (!key.startsWith(prefix)) continue
        const view = read(key)
        if (isInUse(view)) yield view
      }
    },
    evict(key, token, ask) {
      return world.step(key, { kind: ask ? 'revoke' : 'evict', token })
    },
  }
}

function recordsOf(world: MemoryWorld): Records {
  const read = (key: string) => {
    const record = alive(world.records.get(key) ?? null, world.clock().nowMs)
    if (record === null) world.records.delete(key)
    return record
  }
  const allowed = (key: string, condition: RecordCondition) =>
    conditionHolds(
      read(key),
      condition,
      () => condition.kind === 'held' && world.holds(condition.key, condition.id),
    )
  return {
    read,
    write(key, value, ttlMs, condition) {
      if (!allowed(key, condition)) return { kind: 'refused', current: read(key) }
      const record = writtenRecord(read(key)?.version ?? 0, value, ttlMs, world.clock())
      world.putRecord(key, record)
      return { kind: 'written', version: record.version }
    },
    remove(key, condition) {
      return allowed(key, condition) && world.records.delete(key)
    },
    take(key, count) {
      const { next, answer } = takeFromRecord(read(key), count, world.clock())
      if (next !== null) world.putRecord(key, next)
      return answer
    },
  }
}
