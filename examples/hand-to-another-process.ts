// Shows: a lease that changes hands. One process takes the lock and gives the lease to another as text; the key is
//        never free in between, the new holder has a higher token, and the giver's lease ends.
// Run:   node --import tsx examples/hand-to-another-process.ts
// Prints:
//   giver: has the lock
//   giver: LEASE_LOST, the lease on "deploy" was lost: another process adopted it
//   taker: has the lock, with a higher token: true
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect, type LeaseJson, type LeaseLostError } from 'holdfast'

const [store] = process.argv.slice(2)
await (store === undefined ? give() : take(store))

async function give(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-example-'))
  const url = `sqlite:${join(folder, 'locks.db')}`
  const locks = await connect(url)
  const lease = await locks.acquire('deploy')
  console.log('giver: has the lock')

  const taker = fork(fileURLToPath(import.meta.url), [url])
  const lost = once(lease.signal, 'abort')
  // Through a channel that nobody else reads: the id inside is the proof of ownership.
  taker.send(JSON.stringify(lease))
  await lost
  const { code, message } = lease.signal.reason as LeaseLostError
  console.log(`giver: ${code}, ${message}`)
  taker.send('go on')
  await once(taker, 'exit')
  await locks.close()
  rmSync(folder, { recursive: true })
}

async function take(url: string): Promise<void> {
  const [text] = (await once(process, 'message')) as [string]
  const given = JSON.parse(text) as LeaseJson
  await using locks = await connect(url)
  const lease = await locks.adopt(given)
  await once(process, 'message')
  console.log(`taker: has the lock, with a higher token: ${lease.token! > BigInt(given.token!)}`)
  await lease.release()
  process.disconnect()
}
