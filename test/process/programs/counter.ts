import { once } from 'node:events'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { createLocks } from 'holdfast'
import { sqlite } from 'holdfast/sqlite'
import { eachLine } from '../support/lines.ts'
import { type Answer, type Counter, type CounterOrder, FILES, type Testimony } from '../support/messages.ts'

const { name, folder, ttlMs } = JSON.parse(process.argv[2] as string) as CounterOrder
const file = join(folder, FILES.counter)
const socket = createConnection(join(folder, FILES.socket))
let hear: (answer: Answer) => void = () => {}
eachLine(socket, (line) => hear(line as Answer))
const locks = createLocks({
  store: sqlite(join(folder, FILES.database)),
  ttl: ttlMs,
  wait: '60s',
  label: name,
})

// Without a witness there is nothing to prove, and nobody to be told to stop by.
socket.once('close', () => void locks.close())
await once(socket, 'connect')
let answer = await tell({ kind: 'ready', name })
for (let sequence = 1; answer === 'go'; sequence++) {
  answer = await locks.using('counter', async (lease) => {
    await tell({ kind: 'enter', token: String(lease.token) })
    const value = increment(sequence)
    return tell({ kind: 'exit', sequence, value })
  })
}
await locks.close()
socket.end()

function tell(testimony: Testimony): Promise<Answer> {
  socket.write(`${JSON.stringify(testimony)}\n`)
  return new Promise((resolve) => {
    hear = resolve
  })
}

/** Read, add one, write: every step on its own, so that two at once would lose one of theirs. */
function increment(sequence: number): number {
  const { value, of } = JSON.parse(readFileSync(file, 'utf8')) as Counter
  const next: Counter = { value: value + 1, of: { ...of, [name]: sequence } }
  // Renamed into place, because whoever is killed in the middle must not leave half a file.
  writeFileSync(`${file}.${name}`, JSON.stringify(next))
  renameSync(`${file}.${name}`, file)
  return next.value
}
