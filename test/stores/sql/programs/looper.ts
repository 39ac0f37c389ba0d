import { connect, LockError } from 'holdfast'

/** Takes the same key again and again, and tells when it saw itself inside: it may be stopped before the words go out. */
const [, , url = '', ttlMs] = process.argv
const locks = await connect(url, { ttl: Number(ttlMs), wait: 30_000, handover: false, label: 'looper' })
for (;;) {
  try {
    await locks.using('looped', async (lease) => {
      for (let look = 0; look < 3; look++) {
        await new Promise((resolve) => setTimeout(resolve, 3))
        const atNs = process.hrtime.bigint()
        if (lease.held) process.send?.(String(atNs))
      }
    })
  } catch (error) {
    if (!(error instanceof LockError)) throw error
  }
}
