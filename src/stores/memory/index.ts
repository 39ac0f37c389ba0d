import { nodeRuntime, type Runtime } from '../../core/runtime.ts'
import type { Admin, Records, Store, Traits } from '../../core/store.ts'
import {
  alive,
  claimBatch,
  conditionHolds,
  isInUse,
  type RecordCondition,
  releaseOf,
  renewOf,
  step,
  stepBatch,
  take,
  trade,
  viewOf,
  written,
} from '../../model/index.ts'
import { MemoryWorld } from './world.ts'

export interface MemoryOptions {
  /** Stores of one world see each other's claims; by default every store is a world of its own. */
  world?: MemoryWorld
  runtime?: Runtime
}

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
export function memoryWorld(runtime: Runtime = nodeRuntime): MemoryWorld {
  return new MemoryWorld(runtime)
}

/** The shortest store and the reference: the model itself. */
export function memory(options: MemoryOptions = {}): Store {
  const world = options.world ?? new MemoryWorld(options.runtime ?? nodeRuntime)
  const inbox = world.newInbox()
  return {
    traits: TRAITS,
    attempt(claims) {
      const batch = claimBatch(world, claims, inbox, world.clock(), world.rules)
      world.deliver(batch.letters)
      return batch.answers
    },
    renew(claims) {
      const batch = stepBatch(world, claims, renewOf, world.clock(), world.rules)
      world.deliver(batch.letters)
      return batch.answers
    },
    release(claims) {
      const batch = stepBatch(world, claims, releaseOf, world.clock(), world.rules)
      world.deliver(batch.letters)
      return batch.answers
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
      const outcome = step(
        world.get(key),
        { kind: ask ? 'revoke' : 'evict', token },
        world.clock(),
        world.rules,
      )
      world.put(key, outcome.state)
      world.deliver(outcome.letters.map((letter) => ({ ...letter, key })))
      return outcome.answer
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
      () => condition.kind === 'held' && isHeld(world, condition.key, condition.id),
    )
  return {
    read,
    write(key, value, ttlMs, condition) {
      if (!allowed(key, condition)) return { kind: 'refused', current: read(key) }
      const record = written(read(key)?.version ?? 0, value, ttlMs, world.clock())
      world.records.set(key, record)
      return { kind: 'written', version: record.version }
    },
    remove(key, condition) {
      return allowed(key, condition) && world.records.delete(key)
    },
    take(key, count) {
      const { next, answer } = take(read(key), count, world.clock())
      if (next !== null) world.records.set(key, next)
      return answer
    },
    trade(key, deal) {
      const record = read(key)
      const clock = world.clock()
      const { next, answer } = trade(record, deal, record?.version ?? 0, clock, clock.nowMs)
      if (next !== null) world.records.set(key, next)
      return answer
    },
  }
}

function isHeld(world: MemoryWorld, key: string, id: string): boolean {
  const { state } = step(world.get(key), { kind: 'tick' }, world.clock(), world.rules)
  return state.holds.some((hold) => hold.members.some((member) => member.id === id))
}
