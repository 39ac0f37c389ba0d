// Shows: several processes of one machine, one SQLite file. Each process adds to the number in a file, one by one.
// Run:   node --import tsx examples/two-processes.ts
// Prints:
//   2 processes added 50 each
//   the number is 100
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect } from 'holdfast'

const [folder] = process.argv.slice(2)
await (folder === undefined ? main() : add(folder))

async function main(): Promise<void> {
  const shared = mkdtempSync(join(tmpdir(), 'holdfast-example-'))
  writeFileSync(join(shared, 'number'), '0')
  const processes = [1, 2].map(() => fork(fileURLToPath(import.meta.url), [shared]))
  await Promise.all(processes.map((each) => once(each, 'exit')))
  console.log(`${processes.length} processes added 50 each`)
  console.log(`the number is ${readFileSync(join(shared, 'number'), 'utf8')}`)
  rmSync(shared, { recursive: true })
}

async function add(shared: string): Promise<void> {
  await using locks = await connect(`sqlite:${join(shared, 'locks.db')}`)
  const file = join(shared, 'number')
  for (let round = 0; round < 50; round++) {
    await locks.using('number', async () => {
      const before = Number(readFileSync(file, 'utf8'))
      await new Promise((turn) => setImmediate(turn))
      writeFileSync(file, String(before + 1))
    })
  }
}
