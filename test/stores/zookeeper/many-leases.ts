// A process that holds many keys, each with a name of 100 characters, and says so when it has them all.
import { connect, type Lease } from 'holdfast'

const [, , url = '', count = '', ttl = ''] = process.argv
const locks = await connect(url, { ttl: Number(ttl), callTimeout: 60_000 })
const keys = Array.from({ length: Number(count) }, (_, index) => `lease-${index}-`.padEnd(100, 'x'))
const leases: Lease[] = []
// Some at a time, so that renewals are not kept waiting by a busy event loop.
for (let first = 0; first < keys.length; first += 1000)
  leases.push(...(await Promise.all(keys.slice(first, first + 1000).map((key) => locks.acquire(key)))))
console.log(`held ${leases.filter(({ held }) => held).length}`)
setInterval(() => {}, 1000)
