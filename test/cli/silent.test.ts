import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, expect, it } from 'vitest'
import { Bench } from './support/command.ts'

/** The deadline of a call, 5 s, and the start and end of as many processes on a busy machine. */
const BOUND_MS = 15_000
const STORES = [
  'redis://HOST',
  'postgres://app@HOST/shop',
  'mysql://app@HOST/shop',
  'etcd://HOST',
  'zookeeper://HOST',
]

const bench = new Bench()
const server = createServer(() => {}).listen(0, '127.0.0.1')
await once(server, 'listening')
const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
afterAll(() => void server.close())

it.each([
  ['ls', ['ls']],
  ['doctor', ['doctor']],
  ['run --no-wait', ['run', 'key', '--no-wait', '--', 'touch', 'FILE']],
])(
  'holdfast %s ends with exit code 69 when the server accepts connections and says nothing',
  async (_, args) => {
    const file = bench.file('ran')
    const beganAtMs = performance.now()
    await Promise.all(
      STORES.map(async (store) => {
        const url = store.replace('HOST', host)
        const end = await bench.holdfast(
          args.map((word) => word.replace('FILE', file)),
          { HOLDFAST_STORE: url },
        )
        expect(end, url).toMatchObject({ code: 69, signal: null, stdout: '' })
        expect(end.stderr, url).toMatch(new RegExp(`^holdfast: .* at ${host}.* cannot be reached`))
        expect(performance.now() - beganAtMs, url).toBeLessThan(BOUND_MS)
      }),
    )
    expect(existsSync(file)).toBe(false)
  },
  60_000,
)
