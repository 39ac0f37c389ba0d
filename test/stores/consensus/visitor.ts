// A process that takes its keys again and again, and prints one line for each of its visits: when it came, until when it
// knew that it held the key, both on the machine's monotonic clock, and its token. As a candidate it leads for as long as
// it can, and says so when it begins.
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type Lease } from 'holdfast'

const STEP_MS = 5
const STEPS = 4
/** Errors that a fault may cause for a caller. */
const EXPECTED = new Set(['STORE_UNAVAILABLE', 'LEASE_LOST', 'LOCK_TIMEOUT'])

const [, , url = '', ttl = '', role = '', ...keys] = process.argv
const locks = await connect(url, { ttl: Number(ttl), wait: 5000 })
const over = new AbortController()
process.stdin.on('end', () => over.abort())
process.stdin.resume()

/** The same clock in every process of the machine. */
function clockMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

function tell(key: string, { token }: Lease, fromMs: number, untilMs: number | null): void {
  console.log(JSON.stringify({ key, token: String(token), fromMs, untilMs }))
}

async function visit(key: string, lease: Lease, goesOn: (step: number) => boolean): Promise<void> {
  const fromMs = clockMs()
  if (!lease.held) return
  let untilMs = fromMs
  if (role === 'candidate') tell(key, lease, fromMs, null)
  for (let step = 0; goesOn(step); step++) {
    await sleep(STEP_MS)
    // The clock is read before the lease is asked: what is told is never longer than what was known.
    const nowMs = clockMs()
    if (!lease.held) break
    untilMs = nowMs
  }
  tell(key, lease, fromMs, untilMs)
}

async function come(key: string): Promise<void> {
  try {
    if (role === 'candidate') {
      const work = (lease: Lease, signal: AbortSignal) => visit(key, lease, () => !signal.aborted)
      await locks.election(key).lead(work, { signal: over.signal })
    } else {
      await locks.using(key, (lease) => visit(key, lease, (step) => step < STEPS))
    }
  } catch (error) {
    if (over.signal.aborted && error === over.signal.reason) return
    if (!EXPECTED.has((error as { code?: string }).code ?? '')) throw error
    await sleep(20)
  }
}

await Promise.all(
  keys.map(async (key) => {
    while (!over.signal.aborted) await come(key)
  }),
)
await locks.close()
