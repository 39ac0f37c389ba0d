import assert from 'node:assert/strict'
import type { Deal, DealAnswer, Goods } from '../../model/index.ts'
import { type Trader, traderOf } from '../../recipes/stock-records.ts'
import type { Scene } from './scene.ts'

export type Take = Deal & { kind: 'take' }

export const look: Deal = { kind: 'look' }

export function open(goods: Goods): Deal {
  return { kind: 'open', goods, ttlMs: null }
}

export function take(order: string, more: Partial<Take> = {}): Take {
  return { kind: 'take', order, buyer: `buyer of ${order}`, count: 1, perBuyer: null, holdMs: null, ...more }
}

export function add(order: string, goods: Goods): Deal {
  return { kind: 'add', order, goods }
}

export function conflict(kind: 'add' | 'take', buyer: string | null, count: number): DealAnswer {
  return { kind: 'conflict', first: { kind, buyer, count } }
}

export function stock(left: number, held = 0, sold = 0): DealAnswer {
  return { kind: 'stock', left, held, sold, moving: [] }
}

/** A process that trades as the recipe does: by the store's accelerator, or over its records. */
export interface Shop {
  trade(key: string, deal: Deal): Promise<DealAnswer>
}

/** Two processes and a stock of their own, opened if `goods` are given. */
export async function shop(scene: Scene, goods?: Goods): Promise<{ a: Shop; b: Shop; key: string }> {
  const [a, b] = [await shopOf(scene), await shopOf(scene)]
  const key = scene.key('stock')
  if (goods !== undefined) await a.trade(key, open(goods))
  return { a, b, key }
}

async function shopOf(scene: Scene): Promise<Shop> {
  const { records } = (await scene.party()).store
  assert.ok(records !== null, 'the traits promise records')
  const traders = new Map<string, Trader>()
  return {
    async trade(key, deal) {
      const trader = traders.get(key) ?? traderOf(records, scene.runtime, key)
      traders.set(key, trader)
      return trader(deal)
    },
  }
}
