// Shows: a process that is stopped with SIGTERM, as at a deployment, and gives its locks back before it ends. Without
//        `releaseOnSignal` the next holder would have to wait for the rest of the ttl, here up to a minute.
// Run:   node --import tsx examples/release-on-signal.ts
// Prints:
//   the worker has the lock
//   the worker ended by SIGTERM
//   the next one has the lock: waited less than 5 s
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect } from 'holdfast'

const [store] = process.argv.slice(2)
await (store === undefined ? main() : work(store))

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-example-'))
  const url = `sqlite:${join(folder, 'locks.db')}`
  const worker = fork(fileURLToPath(import.meta.url), [url])
  await once(worker, 'message')
  console.log('the worker has the lock')

  const locks = await connect(url)
  const waiting = locks.acquire('queue', { wait: '30s' })
  await stopped(worker)
  const lease = await waiting
  console.log(`the next one has the lock: waited ${lease.waitedMs < 5000 ? 'less' : 'more'} than 5 s`)
  await locks.close()
  rmSync(folder, { recursive: true })
}

async function stopped(worker: ChildProcess): Promise<void> {
  const exit = once(worker, 'exit')
  worker.kill('SIGTERM')
  const [, signal] = await exit
  console.log(`the worker ended by ${signal}`)
}

async function work(url: string): Promise<void> {
  const locks = await connect(url, { releaseOnSignal: true, ttl: '1m' })
  await locks.acquire('queue')
  process.send?.('ready')
  // Only so that the process has something to do; leases do not keep a process alive.
  setInterval(() => {}, 1000)
}
