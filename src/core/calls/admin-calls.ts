import type { Admin, Records, Soon, Store } from '../store.ts'
import type { StoreClient } from './store-client.ts'

/** The store's admin methods, each with the deadline of a call. */
export function adminOf(client: StoreClient, { admin }: Store): Admin {
  const ask = <T>(send: () => Soon<T>): Soon<T> => client.call('admin', 0, send)
  return {
    read: (key) => ask(() => admin.read(key)),
    list: (prefix) => each(client, (onPage) => admin.list(prefix, onPage)),
    evict: (key, token, only) => ask(() => admin.evict(key, token, only)),
    ...(admin.inspect && {
      inspect: (options) => each(client, (onPage) => admin.inspect!(options, onPage)),
    }),
    ...(admin.reap && { reap: (remains, olderMs) => ask(() => admin.reap!(remains, olderMs)) }),
  }
}

/** The store's records, each method with the deadline of a call. */
export function recordsOf(client: StoreClient, { records }: Store): Records | null {
  if (records === null) return null
  const ask = <T>(send: () => Soon<T>): Soon<T> => client.call('records', 0, send)
  return {
    read: (key) => ask(() => records.read(key)),
    write: (key, value, ttlMs, condition) => ask(() => records.write(key, value, ttlMs, condition)),
    remove: (key, condition) => ask(() => records.remove(key, condition)),
    take: (key, count) => ask(() => records.take(key, count)),
    ...(records.readAll && { readAll: (keys) => ask(() => records.readAll!(keys)) }),
    ...(records.writeAll && { writeAll: (writes) => ask(() => records.writeAll!(writes)) }),
    ...(records.inventory && { inventory: (key, deal) => ask(() => records.inventory!(key, deal)) }),
  }
}

/** The items of a listing. Each has a deadline of its own, and so has each page that brings none. */
async function* each<T>(
  client: StoreClient,
  all: (onPage: () => void) => AsyncIterable<T>,
): AsyncIterable<T> {
  let onPage = (): void => {}
  const items = all(() => onPage())[Symbol.asyncIterator]()
  try {
    let coming: Promise<IteratorResult<T>> | null = null
    for (;;) {
      const page = new Promise<null>((resolve) => {
        onPage = () => resolve(null)
      })
      const send = () => {
        coming ??= items.next()
        return Promise.race([coming, page])
      }
      const next = await client.call('admin', 0, send)
      if (next === null) continue
      if (next.done === true) return
      coming = null
      yield next.value
    }
  } finally {
    // Not awaited: a generator that hangs in `next` answers `return` only after that.
    Promise.resolve(items.return?.()).catch(() => {})
  }
}
