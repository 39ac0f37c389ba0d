import type { Records, Store } from 'holdfast'
import type { Deal } from '../../src/model/index.ts'
import { type Trader, traderOf } from '../../src/recipes/stock-records.ts'
import type { Canary } from './canary.ts'
import { World } from './world.ts'

/** Diseases of stocks, each an accelerator that changes the deal on its way. */
export const stocks: readonly Canary[] = [
  sick('an order that is sent again takes again', (deal, nth) =>
    deal.kind === 'take' ? { ...deal, order: `${deal.order} ${nth}` } : deal,
  ),
  sick('the limit of a buyer is not kept', (deal) =>
    deal.kind === 'take' ? { ...deal, perBuyer: null } : deal,
  ),
  sick('holds never return', (deal) =>
    deal.kind === 'take' && deal.holdMs !== null ? { ...deal, holdMs: 3_600_000 } : deal,
  ),
  sick('a hold is sold before it is confirmed', (deal) =>
    deal.kind === 'take' ? { ...deal, holdMs: null } : deal,
  ),
  sick('a delivery that is sent again is added again', (deal, nth) =>
    deal.kind === 'add' ? { ...deal, order: `${deal.order} ${nth}` } : deal,
  ),
  sick('an order that is used for something else is answered as the first time', (deal, _, first) =>
    isUse(deal) ? first : deal,
  ),
  sick('two buyers have the same order', (deal, _, first) =>
    deal.kind === 'take' && first.kind === 'take' ? { ...deal, buyer: first.buyer } : deal,
  ),
  sick('an order has another count', (deal, _, first) =>
    deal.kind === 'take' && first.kind === 'take' ? { ...deal, count: first.count } : deal,
  ),
  sick('a delivery has other goods', (deal, _, first) =>
    deal.kind === 'add' && first.kind === 'add' ? { ...deal, goods: first.goods } : deal,
  ),
  sick('adding and taking have names of their own', (deal) =>
    deal.kind === 'add' ? { ...deal, order: `${deal.order} added` } : deal,
  ),
  sick('an order is compared, but not registered', (deal) =>
    deal.kind === 'register' ? { ...deal, kind: 'compare' } : deal,
  ),
]

/** Deals that an order can be used for. */
function isUse(deal: Deal): boolean {
  return deal.kind === 'add' || deal.kind === 'take'
}

function sick(disease: string, change: (deal: Deal, nth: number, first: Deal) => Deal): Canary {
  return {
    disease,
    topic: 'stock',
    World: class extends World {
      private deals = 0
      private readonly firsts = new Map<string, Deal>()

      override open(): Store {
        const store = super.open()
        const records = store.records as Records
        const traders = new Map<string, Trader>()
        const inventory: Records['inventory'] = (key, deal) => {
          const trader = traders.get(key) ?? traderOf(records, this.runtime, key)
          traders.set(key, trader)
          return trader(change(deal, ++this.deals, this.firstOf(key, deal)))
        }
        return { ...store, records: { ...records, inventory } }
      }

      /** The first deal that used the same order of the same stock. */
      private firstOf(key: string, deal: Deal): Deal {
        if (!('order' in deal)) return deal
        const name = JSON.stringify([key, deal.order])
        const first = this.firsts.get(name) ?? deal
        if (isUse(first)) this.firsts.set(name, first)
        return first
      }
    },
  }
}
