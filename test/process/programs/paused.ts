import { createLocks } from 'holdfast'
import { sqlite } from 'holdfast/sqlite'
import type { FromPaused } from '../support/messages.ts'

/** Writes for as long as it holds the key. When it does not any more, it tries to write once more all the same. */
const [, , database = '', ttlMs] = process.argv
const locks = createLocks({ store: sqlite(database), ttl: Number(ttlMs) })
const lease = await locks.acquire('key')
const token = String(lease.token)

lease.signal.addEventListener('abort', () => {
  tell({ kind: 'aborted', code: lease.signal.reason.code })
})
let lateWrites = 0
const writing = setInterval(() => {
  if (lease.held) tell({ kind: 'write', token, knowing: 'held' })
  else if (++lateWrites === 1) tell({ kind: 'write', token, knowing: 'lost' })
  // The timer of a lease does not keep the process alive, so this one does until the loss is told.
  if (lease.signal.aborted) clearInterval(writing)
}, 10)

function tell(message: FromPaused): void {
  process.send?.(message)
}
