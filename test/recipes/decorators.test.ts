import * as holdfast from 'holdfast'
import { createLocks, InvalidArgumentError, idempotent, type Locks, locked } from 'holdfast'
import { describe, expect, it } from 'vitest'
import { COMPILERS, runCompiled } from './compiled.ts'

const SHOP = `
import { createLocks, idempotent, locked } from 'holdfast'
export class Shop {
  locks = createLocks()
  sold = 0
  receipts = 0
  static rents = 0
  static locks = createLocks()

  @locked((self: Shop) => self.locks, (item: string) => 'item:' + item)
  async sell(_item: string): Promise<number> {
    const before = this.sold
    await new Promise(setImmediate)
    return (this.sold = before + 1)
  }

  @idempotent((self: Shop) => self.locks, (order: string) => order)
  async charge(_order: string): Promise<string> {
    return 'receipt ' + ++this.receipts
  }

  @locked((self: typeof Shop) => self.locks, 'rent')
  static async rent(): Promise<number> {
    const before = Shop.rents
    await new Promise(setImmediate)
    return (Shop.rents = before + 1)
  }
}
`

interface Shop {
  readonly locks: Locks
  sell(item: string): Promise<number>
  charge(order: string): Promise<string>
}

interface ShopClass {
  new (): Shop
  readonly locks: Locks
  readonly prototype: Shop
  rent(): Promise<number>
}

const misplaced = (decorator: string, member: string) => `
import { createLocks, idempotent, locked } from 'holdfast'
const locks = createLocks()
export class Shop {
  ${decorator}
  ${member}
}
`

describe.each(COMPILERS)('@locked and @idempotent by $name', (compiler) => {
  it('exclude others and run once, on methods of objects and of classes', async () => {
    const { Shop } = runCompiled<{ Shop: ShopClass }>(compiler, SHOP, { holdfast })
    const shop = new Shop()
    const holder = await shop.locks.acquire('item:book')
    const selling = [shop.sell('book'), shop.sell('book')]
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(shop).toMatchObject({ sold: 0 })
    await holder.release()
    expect(await Promise.all(selling)).toEqual([1, 2])
    const receipts = [shop.charge('a'), shop.charge('a'), shop.charge('b')]
    expect(await Promise.all(receipts)).toEqual(['receipt 1', 'receipt 1', 'receipt 2'])
    expect(await Promise.all([Shop.rent(), Shop.rent(), Shop.rent()])).toEqual([1, 2, 3])
    const { name, length } = Shop.prototype.sell
    expect({ name, length }).toEqual({ name: 'sell', length: 1 })
    await Promise.all([shop.locks.close(), Shop.locks.close()])
  })

  it.each([
    ['a field', 'sell = async () => 1'],
    ['a getter', 'get sell() { return 1 }'],
    ['a setter', 'set sell(value: number) {}'],
    ['a static field', 'static sell = async () => 1'],
  ])('refuse to stand on %s', (_place, member) => {
    const uses = [
      ['@locked', `@locked(locks, 'key')`],
      ['@idempotent', '@idempotent(locks, () => "id")'],
    ]
    for (const [name, decorator] of uses) {
      const run = () => runCompiled(compiler, misplaced(decorator as string, member), { holdfast })
      expect(run).toThrow(InvalidArgumentError)
      expect(run).toThrow(new RegExp(`${name} must stand on a method, not on (?:a |the member sell)`))
    }
  })

  it('refuse to stand on a class', () => {
    const source = `
      import { createLocks, locked } from 'holdfast'
      @locked(createLocks(), 'key')
      export class Shop {}`
    expect(() => runCompiled(compiler, source, { holdfast })).toThrow(
      /@locked must stand on a method, not on a class/,
    )
  })
})

it('a decorator without a key or an id is refused where it stands', () => {
  const locks = createLocks()
  expect(() => locked(locks, undefined as never)).toThrow(/keyOf must be a text or a function/)
  expect(() => idempotent(locks, 'id' as never)).toThrow(/idOf must be a function/)
})
