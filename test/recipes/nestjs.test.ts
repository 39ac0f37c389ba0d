import 'reflect-metadata'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { createLocks, type Locks, UnsupportedError } from 'holdfast'
import { memory } from 'holdfast/memory'
import { HoldfastModule, Idempotent, InjectLocks, Locked, locksToken } from 'holdfast/nestjs'
import { expect, test } from 'vitest'

/** What TypeScript makes of `@decorator` with `experimentalDecorators`, as every Nest application is compiled. */
function decorate(
  target: object,
  name: string,
  ...decorators: ((target: object, name: string, descriptor: PropertyDescriptor) => void)[]
): void {
  const descriptor = Object.getOwnPropertyDescriptor(target, name) as PropertyDescriptor
  for (const decorator of decorators.toReversed()) decorator(target, name, descriptor)
  Object.defineProperty(target, name, descriptor)
}

function shop() {
  class Shop {
    readonly locks: Locks
    stock = 10
    receipts = 0

    constructor(locks: Locks) {
      this.locks = locks
    }

    async sell(_item: string): Promise<number> {
      const before = this.stock
      await new Promise(setImmediate)
      this.stock = before - 1
      return this.stock
    }

    async charge(_order: string): Promise<string> {
      return `receipt ${++this.receipts}`
    }
  }
  InjectLocks()(Shop, undefined as unknown as string, 0)
  decorate(
    Shop.prototype,
    'sell',
    Locked((item: string) => `item:${item}`),
  )
  decorate(
    Shop.prototype,
    'charge',
    Idempotent((order: string) => order, { ttl: '1h' }),
  )
  return Shop
}

async function start(imports: unknown[], providers: unknown[]) {
  class App {}
  Module({ imports: imports as never[], providers: providers as never[] })(App)
  return NestFactory.createApplicationContext(App, { logger: false, abortOnError: false })
}

test('locks are injected, methods are locked and idempotent, and closing the application closes the locks', async () => {
  const Shop = shop()
  const app = await start([HoldfastModule.forRoot({ url: 'memory:', ttl: '5s' })], [Shop])
  const service = app.get(Shop)
  expect(service.locks).toBe(app.get(locksToken()))
  const left = await Promise.all([service.sell('book'), service.sell('book'), service.sell('book')])
  expect(left).toEqual([9, 8, 7])
  expect(await Promise.all([service.charge('a'), service.charge('a'), service.charge('b')])).toEqual([
    'receipt 1',
    'receipt 1',
    'receipt 2',
  ])
  await app.close()
  await expect(service.sell('book')).rejects.toMatchObject({ code: 'CLOSED' })
})

test('the options may come from a factory that injects, and several locks live side by side', async () => {
  class Settings {
    readonly url = 'memory:'
  }
  class SettingsModule {}
  Module({ providers: [Settings], exports: [Settings] })(SettingsModule)
  class Jobs {
    async run(): Promise<string> {
      return 'ran'
    }
  }
  decorate(Jobs.prototype, 'run', Locked('nightly', { locks: 'jobs', wait: 0 }))
  const own = createLocks({ store: memory() })
  const app = await start(
    [
      HoldfastModule.forRootAsync({
        imports: [SettingsModule],
        inject: [Settings],
        useFactory: async ({ url }: Settings) => ({ url }),
      }),
      HoldfastModule.forRoot({ name: 'jobs', locks: own }),
    ],
    [Jobs],
  )
  expect(app.get(locksToken('jobs'))).toBe(own)
  expect(app.get(locksToken())).not.toBe(own)
  const lease = await own.acquire('nightly')
  await expect(app.get(Jobs).run()).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
  await lease.release()
  expect(await app.get(Jobs).run()).toBe('ran')
  await app.close()
})

test('a store that cannot be opened keeps the application from starting, with its own error', async () => {
  await expect(start([HoldfastModule.forRoot({ url: 'nosuch:' })], [])).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  })
})

test('what other decorators noted on the method is kept', () => {
  class Routes {
    async list(_page: number): Promise<void> {}
  }
  const noted = (_target: object, _name: string, descriptor: PropertyDescriptor) =>
    Reflect.defineMetadata('path', '/list', descriptor.value)
  decorate(Routes.prototype, 'list', Locked('list'), noted)
  expect(Reflect.getMetadata('path', Routes.prototype.list)).toBe('/list')
  const { name, length } = Routes.prototype.list
  expect([name, length]).toEqual(['list', 1])
})

test('an object that the framework did not make says so, and a decorator in the wrong place too', async () => {
  const Shop = shop()
  const alone = new Shop(createLocks({ store: memory() }))
  await expect(alone.sell('book')).rejects.toThrow(UnsupportedError)
  expect(() => Locked('k')(class {}, 'x', undefined as never)).toThrow(/experimentalDecorators/)
  expect(() => Idempotent('id' as never)).toThrow(/idOf/)
})
