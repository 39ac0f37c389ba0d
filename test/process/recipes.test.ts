import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'holdfast'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { Bundle } from '../../bench/bundle.ts'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import { eachLine } from './support/lines.ts'
import type { PayOrder, ShopOrder } from './support/messages.ts'

const SHOPPER = new URL('./programs/shopper.ts', import.meta.url)
const PAYER = new URL('./programs/payer.ts', import.meta.url)
const UNITS = Array.from({ length: 100 }, (_, number) => `unit-${number}`)
const BUYERS = 20_000
const PROCESSES = 8

let bundle: Bundle
beforeAll(async () => {
  bundle = await Bundle.of(SHOPPER, PAYER)
})
afterAll(() => bundle.remove())

const STORES: Record<string, () => Promise<string>> = {
  sqlite: async () => `sqlite:${join(folder(), 'sale.db')}`,
  postgres: async () => {
    const server = await startPostgres()
    onTestFinished(() => server.stop())
    return server.url
  },
  redis: async () => {
    const server = await startRedis()
    onTestFinished(() => server.stop())
    return server.url
  },
}

describe.each(Object.entries(STORES))('on %s', (_, start) => {
  test('20,000 buyers, 100 units, duplicates and a crash: every unit is sold once', async () => {
    const url = await start()
    const locks = await connect(url)
    onTestFinished(() => locks.close())
    const sale = locks.inventory('flash', { perBuyer: 1 })
    await sale.stock(UNITS)
    const got = new Map<string, string>()
    const note = (line: string): void => {
      const [buyer, unit] = line.split(' ') as [string, string]
      if (got.get(buyer)?.startsWith('unit') !== true) got.set(buyer, unit)
      else expect(unit, `the same request of buyer ${buyer}`).toBe(got.get(buyer))
    }
    const share = BUYERS / PROCESSES
    const shopFor = (part: number): Worker => {
      const order: ShopOrder = { url, from: part * share, to: (part + 1) * share }
      return new Worker(bundle.path(SHOPPER), order, note)
    }
    const workers = Array.from({ length: PROCESSES }, (_, part) => shopFor(part))
    await (workers[0] as Worker).saidSomething
    await (workers[0] as Worker).kill()
    await Promise.all(workers.slice(1).map((worker) => worker.ended))
    // The successor finds out by the same requests what the dead process did not report.
    await shopFor(0).ended

    expect(got.size).toBe(BUYERS)
    const sold = [...got.values()].filter((unit) => unit.startsWith('unit'))
    expect(sold.sort()).toEqual([...UNITS].sort())
    expect([await sale.sold(), await sale.remaining()]).toEqual([100, 0])
  }, 120_000)

  test('a payment callback 50 times to 4 processes, one killed in the middle: one charge, one answer', async () => {
    const url = await start()
    const effects = join(folder(), 'effects')
    writeFileSync(effects, '')
    const answers: string[] = []
    const begun: string[] = []
    const note = (name: string) => (line: string) =>
      void (line === 'begun' ? begun.push(name) : answers.push(line))
    const names = ['a', 'b', 'c', 'd']
    const workers = new Map(
      names.map((name, index) => {
        const order: PayOrder = { url, name, deliveries: index < 2 ? 13 : 12, effects }
        return [name, new Worker(bundle.path(PAYER), order, note(name))]
      }),
    )
    await expect.poll(() => begun.length, { timeout: 20_000, interval: 5 }).toBe(1)
    const victim = begun[0] as string
    await workers.get(victim)?.kill()
    await Promise.all(names.filter((name) => name !== victim).map((name) => workers.get(name)?.ended))

    expect(readFileSync(effects, 'utf8').trim().split('\n')).toEqual([`charged by ${begun[1]}`])
    expect(answers.length).toBe(50 - (victim === 'a' || victim === 'b' ? 13 : 12))
    expect(new Set(answers)).toEqual(new Set([`receipt of ${begun[1]}`]))
  }, 60_000)
})

/** A program that tells what it does by lines. */
class Worker {
  readonly ended: Promise<void>
  readonly saidSomething: Promise<void>
  private readonly child: ChildProcess
  private killed = false

  constructor(program: string, order: object, onLine: (line: string) => void) {
    const child = spawn(process.execPath, [program, JSON.stringify(order)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child = child
    let complaint = ''
    child.stderr.on('data', (chunk) => (complaint += chunk))
    let said: () => void = () => {}
    this.saidSomething = new Promise((resolve) => (said = resolve))
    eachLine(child.stdout, (line) => {
      said()
      onLine(line)
    })
    this.ended = new Promise((resolve, reject) => {
      child.once('close', (code) => {
        if (this.killed || (code === 0 && complaint === '')) resolve()
        else reject(new Error(`ended with ${code}: ${complaint}`))
      })
    })
    onTestFinished(() => void child.kill('SIGKILL'))
  }

  kill(): Promise<void> {
    this.killed = true
    this.child.kill('SIGKILL')
    return this.ended
  }
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-recipes-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}
