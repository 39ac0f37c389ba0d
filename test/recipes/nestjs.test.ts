import 'reflect-metadata'
import * as common from '@nestjs/common'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { createLocks, type Locks, UnsupportedError } from 'holdfast'
import { memory } from 'holdfast/memory'
import * as nestjs from 'holdfast/nestjs'
import { HoldfastModule, Idempotent, InjectLocks, Locked, locksToken } from 'holdfast/nestjs'
import { describe, expect, test } from 'vitest'
import { COMPILERS, type Compiler, runCompiled } from './compiled.ts'

/** TypeScript's output for `@decorator` with `experimentalDecorators`, as every Nest application is compiled. */
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

test('notes of other decorators on the method are kept', () => {
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

const SERVICE = `
import { Injectable } from '@nestjs/common'
import { Idempotent, InjectLocks, Locked } from 'holdfast/nestjs'
@Injectable()
export class Service {
  @InjectLocks() readonly locks: any
  sold = 0
  receipts = 0

  @Locked((item: string) => 'item:' + item)
  async sell(_item: string): Promise<number> {
    const before = this.sold
    await new Promise(setImmediate)
    return (this.sold = before + 1)
  }

  @Idempotent((order: string) => order)
  async charge(_order: string): Promise<string> {
    return 'receipt ' + ++this.receipts
  }
}
`

interface Service {
  readonly locks: Locks
  readonly sold: number
  sell(item: string): Promise<number>
  charge(order: string): Promise<string>
}

function compiled(compiler: Compiler, source: string): new () => Service {
  const modules = { '@nestjs/common': common, 'holdfast/nestjs': nestjs }
  return runCompiled<{ Service: new () => Service }>(compiler, source, modules).Service
}

describe.each(COMPILERS.filter(({ legacy }) => legacy))('a service by $name', (compiler) => {
  test('is locked and idempotent', async () => {
    const Service = compiled(compiler, SERVICE)
    const app = await start([HoldfastModule.forRoot({ url: 'memory:' })], [Service])
    const service = app.get(Service)
    const holder = await service.locks.acquire('item:book')
    const selling = [service.sell('book'), service.sell('book')]
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(service.sold).toBe(0)
    await holder.release()
    expect(await Promise.all(selling)).toEqual([1, 2])
    const receipts = [service.charge('a'), service.charge('a'), service.charge('b')]
    expect(await Promise.all(receipts)).toEqual(['receipt 1', 'receipt 1', 'receipt 2'])
    await app.close()
  })
})

const use = (member: string) => `
import { Locked } from 'holdfast/nestjs'
export class Service {
  @Locked('key')
  ${member}
}
`

// The framework injects into nothing that standard decorators mark.
test.each(COMPILERS.filter(({ legacy }) => !legacy))('$name are refused', (compiler) => {
  expect(() => compiled(compiler, use('async sell() {}'))).toThrow(/experimentalDecorators/)
})

test.each(
  COMPILERS.filter(({ legacy }) => legacy).flatMap((compiler) => [
    { compiler, member: 'sell = async () => 1', message: /must stand on a method/ },
    { compiler, member: 'get sell() { return 1 }', message: /must stand on a method/ },
    { compiler, member: 'static async sell() {}', message: /sell is static/ },
  ]),
)('$compiler.name are refused on $member', ({ compiler, member, message }) => {
  expect(() => compiled(compiler, use(member))).toThrow(message)
})
