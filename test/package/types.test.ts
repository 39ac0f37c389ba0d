import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import entries from '../../entries.json' with { type: 'json' }
import { Consumer, ROOT } from './install.ts'

/** Speak of `node:http`, so that their users need the types of Node. */
const OF_NODE = ['./guard', './http']

const TYPED = `
import { createLocks, idempotent, locked, type Locks, type Store } from 'holdfast'
import { memory } from 'holdfast/memory'
import { redis } from 'holdfast/redis'
import { sqlite } from 'holdfast/sqlite'
import { conformanceCases } from 'holdfast/testing'

const locks: Locks = createLocks({ ttl: '10s', store: memory() })
export const total: Promise<number> = locks.using('order:42', async (lease) => {
  const token: bigint | null = lease.token
  const signal: AbortSignal = lease.signal
  const dispose: PromiseLike<void> = lease[Symbol.asyncDispose]()
  await dispose
  return token === null || signal.aborted ? 0 : 1
})
export async function scoped(): Promise<void> {
  await using lease = await locks.acquire('order:42')
  lease.assertHeld()
}
// @ts-expect-error: a key is a text
void locks.acquire(42)
export const store: Store = sqlite({ path: 'locks.db' })
declare const client: { status: string; call(): Promise<unknown>; duplicate(): unknown }
export const remote: Store = redis(client)
export const cases = conformanceCases({ name: 'mine', open: () => store })

export class Shop {
  private readonly mine: Locks = locks
  private sold = 0

  @locked(locks, (item: string) => item)
  async sell(_item: string): Promise<number> {
    return ++this.sold
  }

  @locked((self: Shop) => self.mine, 'stock', { ttl: '5s' })
  async count(_item: string, _place: number): Promise<number> {
    return this.sold
  }

  @idempotent(locks, (order: string, _cents: number) => order, { ttl: '24h' })
  async charge(order: string, _cents: number): Promise<string> {
    return order
  }

  @locked(locks, 'static')
  static async rent(): Promise<void> {}

  // @ts-expect-error: the key is made of a text
  @locked(locks, (item: string) => item)
  async wrong(_item: number): Promise<void> {}

  // @ts-expect-error: a lock takes time
  @locked(locks, 'sync')
  sync(): number {
    return 1
  }
}
`

interface Setting {
  readonly name: string
  readonly files: readonly string[]
  readonly compilerOptions: Readonly<Record<string, unknown>>
  readonly entries: readonly string[]
}

const everywhere = Object.keys(entries).filter((entry) => !OF_NODE.includes(entry))

const SETTINGS: readonly Setting[] = [
  {
    name: 'both module systems with the types of Node',
    files: ['typed.mts', 'typed.cts'],
    // Without the library of the browser, which takes most of the time.
    compilerOptions: { module: 'node16', lib: ['es2022'], types: ['node'] },
    entries: Object.keys(entries),
  },
  {
    name: 'ES modules without the types of Node, with experimental decorators',
    files: ['typed.mts'],
    compilerOptions: { module: 'nodenext', types: [], experimentalDecorators: true },
    entries: everywhere,
  },
  {
    name: 'a bundler without the types of Node',
    files: ['typed.mts'],
    compilerOptions: { module: 'esnext', moduleResolution: 'bundler', types: [] },
    entries: everywhere,
  },
]

const consumer = new Consumer()
beforeAll(() => consumer.install(), 120_000)
afterAll(() => consumer.remove())

describe.each(['typescript5', 'typescript', 'typescript7'])(
  'the types by %s, with libraries checked',
  (compiler) => {
    const consumer = new Consumer()

    beforeAll(() => consumer.install(), 120_000)
    afterAll(() => consumer.remove())

    it.each(SETTINGS)(
      'hold for $name',
      async ({ files, compilerOptions, entries }) => {
        const all = entries.map((entry, index) => `export * as e${index} from 'holdfast${entry.slice(1)}'`)
        for (const file of files) consumer.write(file, `${TYPED}${all.join('\n')}\n`)
        const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true }
        const typeRoots = [join(ROOT, 'node_modules/@types')]
        consumer.write(
          'tsconfig.json',
          JSON.stringify({
            files,
            compilerOptions: { target: 'es2022', typeRoots, ...strict, ...compilerOptions },
          }),
        )
        const { code, stdout, stderr } = await consumer.check(compiler)
        expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: '' })
      },
      120_000,
    )
  },
)
