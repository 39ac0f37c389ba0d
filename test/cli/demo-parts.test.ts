import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SALE, type Sale } from '../../src/cli/demo/messages.ts'
import { fullStock, nextUnit, StockFile, withoutOne } from '../../src/cli/demo/stock.ts'
import { timeline } from '../../src/cli/demo/timeline.ts'
import { brokenPromises, type SaleRecord, tallyOf } from '../../src/cli/demo/witness.ts'

function saleOf(unit: number): Sale {
  return {
    worker: (unit % SALE.workers) + 1,
    unit,
    token: String(unit),
    fromMs: unit * 10,
    toMs: unit * 10 + 5,
  }
}

const UNITS = Array.from({ length: SALE.units }, (_, at) => at + 1)
const PERFECT: SaleRecord = {
  guarded: true,
  startedAtMs: 0,
  endedAtMs: 1_010,
  sales: UNITS.map(saleOf),
  refusals: [{ worker: 6, unit: 61, token: '60', fence: '66', atMs: 700 }],
  incidents: [
    { kind: 'killed', worker: 3, atMs: 300, text: '' },
    { kind: 'paused', worker: 6, atMs: 600, text: '' },
    { kind: 'woken', worker: 6, atMs: 690, text: '' },
    { kind: 'refused', worker: 6, atMs: 700, text: '' },
  ],
  turnedAway: 3_900,
  stock: { left: 0, sold: UNITS, fence: '100' },
}

describe('the witness', () => {
  it('is content with a sale that went well', () => {
    expect(brokenPromises(PERFECT)).toEqual([])
    expect(tallyOf(PERFECT)).toMatchObject({
      sold: 100,
      oversoldBy: 0,
      unitsSoldTwice: 0,
      lateWritesRefused: 1,
    })
  })

  it.each([
    ['a unit was lost', { sales: PERFECT.sales.slice(1) }, /units sold: 99, not 100/],
    ['a unit was sold twice', { sales: [...PERFECT.sales, saleOf(7)] }, /units sold: 101, not 100/],
    [
      'one was sold twice instead of another',
      { sales: [...PERFECT.sales.slice(1), saleOf(7)] },
      /sold more than once: 1/,
    ],
    ['stock is left', { stock: { ...PERFECT.stock, left: 1 } }, /left in stock: 1/],
    ['the file disagrees', { stock: { ...PERFECT.stock, sold: UNITS.slice(1) } }, /does not agree/],
    ['nobody was killed', { incidents: PERFECT.incidents.slice(1) }, /no worker was killed/],
    ['nobody was paused', { incidents: PERFECT.incidents.slice(0, 1) }, /no worker was paused/],
    ['the late write went through', { refusals: [] }, /was not refused/],
    ['another write was refused', { refusals: [{ ...PERFECT.refusals[0]!, worker: 1 }] }, /was not refused/],
  ])('notices that %s', (_, change, message) => {
    expect(brokenPromises({ ...PERFECT, ...change }).join('\n')).toMatch(message)
  })
})

describe('the stock', () => {
  function inFolder(work: (stock: StockFile) => void): void {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-stock-'))
    try {
      work(new StockFile(folder))
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  it('counts down', () => {
    inFolder((file) => {
      file.write(fullStock(3))
      expect(nextUnit(file.read(), 3)).toBe(1)
      file.write(withoutOne(file.read(), 1))
      expect(file.read()).toEqual({ left: 2, sold: [1], fence: '0' })
    })
  })

  it('refuses a write with a token below one that has been here, also if that one only read', () => {
    inFolder((file) => {
      file.write(fullStock(3))
      const early = file.readFenced(10n)
      file.readFenced(11n)
      expect(() => file.writeFenced(10n, withoutOne(early, 1))).toThrow(/token 10 is behind 11/)
      expect(file.read()).toEqual({ left: 3, sold: [], fence: '11' })
      file.writeFenced(11n, withoutOne(file.read(), 1))
      expect(file.read().left).toBe(2)
    })
  })
})

it('draws the sales, the kill, the pause and the refused write', () => {
  const rows = timeline(PERFECT, 101)
  expect(rows).toHaveLength(SALE.workers)
  expect(rows[0]).toMatch(/^worker 1 {2}·{8}█·{7}█/)
  // Nothing after the kill, dashes during the pause, and the refusal after it.
  expect(rows[2]).toMatch(/^worker 3 {2}[·█]{30}✖ +killed$/)
  expect(rows[5]).toMatch(/^worker 6 {2}[·█]{60}┄{10}⊘[·█]{30} {2}paused, late write refused$/)
})
