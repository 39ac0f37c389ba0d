import type { Library } from '../library.ts'
import { type Subject, TTL_MS } from './subject.ts'

/** As people use it: with token, deadline, renewal and events. */
export function oursOver({ createLocks }: Library, store: ReturnType<Library['etcd']>, prefix = ''): Subject {
  const locks = createLocks({ store, prefix, ttl: TTL_MS, wait: Number.POSITIVE_INFINITY })
  return {
    run: (key, work) =>
      locks.using(key, (lease) => {
        if (lease.token === null) throw new Error('the lease has no fencing token')
        return work()
      }),
    close: () => locks.close(),
  }
}
