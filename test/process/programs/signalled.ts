import { createLocks } from 'holdfast'
import { sqlite } from 'holdfast/sqlite'

/** Holds one key, waits for another one, and does something that never ends. */
const [, , database = '', manner] = process.argv
const locks = createLocks({ store: sqlite(database), ttl: '1m', releaseOnSignal: true })
await locks.acquire('held')

const work = setInterval(() => {}, 1000)
if (manner === 'with a handler of its own') {
  process.once('SIGTERM', () => {
    console.log('handled')
    clearInterval(work)
  })
}
console.log('holding')
if (manner === 'while it waits') await locks.acquire('busy', { wait: '1m' })
