// Shows: two processes that take the same two accounts in opposite orders, and wait for each other. With `onDeadlock: 'abort'`
//        one of them gets a `ConflictError`, lets go of everything and begins again; so both transfers are made.
// Run:   node --import tsx examples/deadlock.ts
// Prints:
//   gave up: waiting for "account:…" would never end, so it was given up: …; …
//   both transfers are made
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ConflictError, connect } from 'holdfast'

const [folder, from, to] = process.argv.slice(2) as [string?, string?, string?]
await (folder === undefined ? main() : transfer(folder, `account:${from}`, `account:${to}`))

async function main(): Promise<void> {
  const shared = mkdtempSync(join(tmpdir(), 'holdfast-example-'))
  const orders = [
    ['1', '2'],
    ['2', '1'],
  ]
  const processes = orders.map((order) => fork(fileURLToPath(import.meta.url), [shared, ...order]))
  const ends = await Promise.all(processes.map((each) => once(each, 'exit')))
  if (ends.every(([code]) => code === 0)) console.log('both transfers are made')
  rmSync(shared, { recursive: true })
}

async function transfer(shared: string, source: string, target: string): Promise<void> {
  await using locks = await connect(`sqlite:${join(shared, 'locks.db')}`, { onDeadlock: 'abort' })
  for (let made = false; !made; ) {
    try {
      await locks.using(source, async () => {
        // Long enough for the other process to have its first account, too.
        await sleep(1500)
        await locks.using(target, async () => {})
      })
      made = true
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error
      console.log(`gave up: ${error.message}`)
    }
  }
}
