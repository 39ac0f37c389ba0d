// Shows: readers share a key, a writer is alone, and a writer may become a reader without letting another writer in.
// Run:   node --import tsx examples/readers-writers.ts
// Prints:
//   two readers at once
//   the writer waits, and a reader that comes later waits behind it
//   writing version 2
//   written; now reading it back
//   the late reader sees version 2
import { createLocks } from 'holdfast'

const locks = createLocks()
const prices = locks.rw('prices')
let version = 1

const first = await prices.read.acquire()
const second = await prices.read.acquire()
console.log('two readers at once')

const writing = prices.write.acquire()
const lateReading = prices.read.acquire()
console.log('the writer waits, and a reader that comes later waits behind it')
await first.release()
await second.release()

const writer = await writing
version = 2
console.log(`writing version ${version}`)
await writer.downgrade()
console.log('written; now reading it back')

const late = await lateReading
console.log(`the late reader sees version ${version}`)
await Promise.all([writer.release(), late.release()])
await locks.close()
