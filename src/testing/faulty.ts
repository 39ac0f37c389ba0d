import { checkRuntime, checkStore } from '../core/check.ts'
import type { Runtime, Timer } from '../core/runtime.ts'
import type { Records, Soon, Store, StoreNotice } from '../core/store.ts'
import { Faults } from './faults.ts'

/** A store with scripted faults. */
export interface FaultyStore extends Store {
  readonly faults: Faults
}

/**
 * Wraps any store, so that network faults can be simulated on every server. Without a fault each call goes through
 * unchanged. The wrapped store is never immediate, because a fault turns an answer into a promise.
 */
export function faulty(store: Store, given?: Runtime): FaultyStore {
  const runtime = checkRuntime(given)
  checkStore(store)
  const faults = new Faults(runtime)
  const { admin } = store
  return {
    faults,
    traits: { ...store.traits, immediate: false },
    attempt: (claims) => faults.pass('attempt', () => store.attempt(claims)),
    renew: (claims) => faults.pass('renew', () => store.renew(claims)),
    release: (claims) => faults.pass('release', () => store.release(claims)),
    ...(store.claimsPerCall === undefined ? {} : { claimsPerCall: store.claimsPerCall }),
    ...(store.partOf === undefined ? {} : { partOf: (key) => store.partOf?.(key) ?? '' }),
    notices: (listener) => listen(store, faults, runtime, listener),
    admin: {
      read: (key) => faults.pass('admin', () => admin.read(key)),
      async *list(prefix, onPage) {
        await faults.pass('admin', () => {})
        yield* admin.list(prefix, onPage)
      },
      evict: (key, token, ask) => faults.pass('admin', () => admin.evict(key, token, ask)),
      ...(admin.inspect && { inspect: (options, onPage) => admin.inspect!(options, onPage) }),
      ...(admin.reap && {
        reap: (remains, olderMs) => faults.pass('admin', () => admin.reap!(remains, olderMs)),
      }),
    },
    records: store.records === null ? null : faultyRecords(store.records, faults),
    close: () => {
      faults.heal()
      return store.close()
    },
  }
}

function faultyRecords(records: Records, faults: Faults): Records {
  const pass = <T>(call: () => Soon<T>) => faults.pass('records', call)
  return {
    read: (key) => pass(() => records.read(key)),
    write: (key, value, ttlMs, condition) => pass(() => records.write(key, value, ttlMs, condition)),
    remove: (key, condition) => pass(() => records.remove(key, condition)),
    take: (key, count) => pass(() => records.take(key, count)),
    ...(records.readAll && { readAll: (keys) => pass(() => records.readAll!(keys)) }),
    ...(records.writeAll && { writeAll: (writes) => pass(() => records.writeAll!(writes)) }),
    ...(records.inventory && { inventory: (key, deal) => pass(() => records.inventory!(key, deal)) }),
  }
}

function listen(
  store: Store,
  faults: Faults,
  runtime: Runtime,
  listener: (notice: StoreNotice) => void,
): () => void {
  const late = new Set<Timer>()
  const stop = store.notices((notice) => {
    const fate = faults.noticeFate(notice)
    if (fate.kind === 'delay') {
      const tell = () => {
        late.delete(timer)
        listener(notice)
      }
      const timer = runtime.setTimer(tell, fate.ms, true)
      late.add(timer)
    } else if (fate.kind !== 'drop') {
      listener(notice)
      if (fate.kind === 'double') listener(notice)
    }
  })
  return () => {
    stop()
    for (const timer of late) timer.clear()
  }
}
