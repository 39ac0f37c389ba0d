// Shows: the three answers to a busy key: do not wait, wait for a while, wait until the caller has had enough.
// Run:   node --import tsx examples/fail-fast-or-wait.ts
// Prints:
//   tryAcquire: busy
//   acquire: LOCK_TIMEOUT, held by importer for … ms, position 1 in the queue
//   cancelled: the user closed the page
//   using: had it after the importer let go
import { createLocks, LockTimeoutError } from 'holdfast'

const locks = createLocks({ label: 'importer' })
const importer = await locks.acquire('catalogue')

const lease = await locks.tryAcquire('catalogue')
console.log(`tryAcquire: ${lease === null ? 'busy' : 'had it'}`)

try {
  await locks.acquire('catalogue', { wait: '100ms' })
} catch (error) {
  if (!(error instanceof LockTimeoutError)) throw error
  const { code, holder, heldMs, position } = error
  console.log(
    `acquire: ${code}, held by ${holder} for ${Math.round(heldMs ?? 0)} ms, position ${position} in the queue`,
  )
}

const page = new AbortController()
setTimeout(() => page.abort(new Error('the user closed the page')), 20)
await locks
  .acquire('catalogue', { wait: Infinity, signal: page.signal })
  .catch((error: Error) => console.log(`cancelled: ${error.message}`))

setTimeout(() => void importer.release(), 20)
await locks.using('catalogue', { wait: '2s' }, () => console.log('using: had it after the importer let go'))
await locks.close()
