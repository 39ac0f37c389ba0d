import type { Records, Store } from 'holdfast'
import type { Deal } from '../../src/model/index.ts'
import type { Canary } from './canary.ts'
import { World } from './world.ts'

/** Diseases of stocks, each a change of the deal on its way to a healthy store. */
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
]

function sick(disease: string, change: (deal: Deal, nth: number) => Deal): Canary {
  return {
    disease,
    topic: 'stock',
    World: class extends World {
      private deals = 0

      override open(): Store {
        const store = super.open()
        const records = store.records as Records
        const trade: Records['trade'] = (key, deal) => records.trade(key, change(deal, ++this.deals))
        return { ...store, records: { ...records, trade } }
      }
    },
  }
}
