import { connect, LockError } from 'holdfast'

/** Takes a key and keeps it for as long as it can, and tells again and again that it is inside. */
const [, , url = '', ttlMs] = process.argv
const locks = await connect(url, { ttl: Number(ttlMs), wait: 30_000 })
for (;;) {
  try {
    await locks.using('kept', async (lease) => {
      while (lease.held) {
        process.send?.('inside')
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    })
  } catch (error) {
    if (!(error instanceof LockError)) throw error
  }
}
