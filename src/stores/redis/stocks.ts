import type { Deal, DealAnswer, Goods, Move } from '../../model/index.ts'
import { stockNames } from './names.ts'
import type { Scripting, ScriptName } from './scripting.ts'

/** One step on a stock is one script. */
export async function trade(scripting: Scripting, key: string, deal: Deal): Promise<DealAnswer> {
  const [script, args, meaning] = messageOf(deal)
  const answer = await scripting.run(script, stockNames(key), args)
  return answer === null ? { kind: 'absent' } : meaning(answer as never)
}

type Message = readonly [ScriptName, readonly string[], (answer: never) => DealAnswer]

function messageOf(deal: Deal): Message {
  switch (deal.kind) {
    case 'open':
      return ['stockOpen', [JSON.stringify(deal.goods), textOf(deal.ttlMs)], opened]
    case 'add':
      return ['stockAdd', [deal.order, JSON.stringify(deal.goods)], plain]
    case 'take': {
      const { order, buyer, count, perBuyer, holdMs } = deal
      return ['stockTake', [order, buyer ?? '', String(count), textOf(perBuyer), textOf(holdMs)], taken]
    }
    case 'look':
      return ['stockLook', [], looked]
    default:
      return ['stockSettle', [deal.order, deal.kind], plain]
  }
}

function textOf(number: number | null): string {
  return number === null ? '' : String(number)
}

function plain(kind: 'added' | 'unfit' | 'settled' | 'returned' | 'unknown'): DealAnswer {
  return { kind }
}

function opened([created, goods]: [unknown, string]): DealAnswer {
  return { kind: 'opened', created: Number(created) === 1, goods: JSON.parse(goods) as Goods }
}

function taken([kind, detail]: ['taken' | 'short' | 'limit' | 'returned', string]): DealAnswer {
  if (kind === 'taken') return { kind, goods: JSON.parse(detail) as Goods }
  if (kind === 'short') return { kind, left: Number(detail) }
  return kind === 'limit' ? { kind, has: Number(detail) } : { kind }
}

function looked([left, held, sold, ...moves]: string[]): DealAnswer {
  const moving: Move[] = []
  for (let at = 0; at < moves.length; at += 2) {
    moving.push({ order: moves[at] as string, goods: JSON.parse(moves[at + 1] as string) as Goods })
  }
  return { kind: 'stock', left: Number(left), held: Number(held), sold: Number(sold), moving }
}
