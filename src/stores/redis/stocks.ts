import type { Runtime } from '../../core/runtime.ts'
import type { Deal, DealAnswer, Goods, Move } from '../../model/index.ts'
import { stockNames } from './names.ts'
import type { Scripting, ScriptName } from './scripting.ts'

/** So that the server is never busy with one call for long. */
const MOST_TAKES_PER_CALL = 100

type Take = Deal & { readonly kind: 'take' }

interface Waiting {
  readonly take: Take
  readonly resolve: (answer: DealAnswer) => void
  readonly reject: (error: unknown) => void
}

/** One step on a stock is one script; the takes of one tick from the same stock travel together. */
export class Stocks {
  private readonly scripting: Scripting
  private readonly runtime: Runtime
  private readonly takes = new Map<string, Waiting[]>()

  constructor(scripting: Scripting, runtime: Runtime) {
    this.scripting = scripting
    this.runtime = runtime
  }

  trade(key: string, deal: Deal): Promise<DealAnswer> {
    return deal.kind === 'take' ? this.collect(key, deal) : this.step(key, deal)
  }

  private async step(key: string, deal: Exclude<Deal, Take>): Promise<DealAnswer> {
    const [script, args, meaning] = messageOf(deal)
    const answer = await this.scripting.run(script, stockNames(key), args)
    return answer === null ? { kind: 'absent' } : meaning(answer as never)
  }

  private collect(key: string, take: Take): Promise<DealAnswer> {
    return new Promise((resolve, reject) => {
      const waiting = this.takes.get(key)
      if (waiting !== undefined) {
        waiting.push({ take, resolve, reject })
        return
      }
      this.takes.set(key, [{ take, resolve, reject }])
      this.runtime.defer(() => this.send(key))
    })
  }

  private send(key: string): void {
    const all = this.takes.get(key) ?? []
    this.takes.delete(key)
    for (let first = 0; first < all.length; first += MOST_TAKES_PER_CALL) {
      const some = all.slice(first, first + MOST_TAKES_PER_CALL)
      const args = some.flatMap(({ take }) => takeText(take))
      this.scripting.run('stockTake', stockNames(key), args).then(
        (answers) => {
          for (const [index, { resolve }] of some.entries())
            resolve(
              answers === null ? { kind: 'absent' } : taken((answers as (number | string)[])[index] as string),
            )
        },
        (error) => {
          for (const { reject } of some) reject(error)
        },
      )
    }
  }
}

function takeText({ order, buyer, count, perBuyer, holdMs }: Take): string[] {
  return [order, buyer ?? '', String(count), textOf(perBuyer), textOf(holdMs)]
}

type Message = readonly [ScriptName, readonly string[], (answer: never) => DealAnswer]

function messageOf(deal: Exclude<Deal, Take>): Message {
  switch (deal.kind) {
    case 'open':
      return ['stockOpen', [JSON.stringify(deal.goods), textOf(deal.ttlMs)], opened]
    case 'add':
      return ['stockAdd', [deal.order, JSON.stringify(deal.goods)], plain]
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

function taken(answer: number | string): DealAnswer {
  if (typeof answer === 'number') return { kind: 'taken', goods: answer }
  if (answer.startsWith('[')) return { kind: 'taken', goods: JSON.parse(answer) as Goods }
  const [kind, number] = answer.split(' ')
  if (kind === 'short') return { kind, left: Number(number) }
  return kind === 'limit' ? { kind, has: Number(number) } : { kind: 'returned' }
}

function looked([left, held, sold, ...moves]: string[]): DealAnswer {
  const moving: Move[] = []
  for (let at = 0; at < moves.length; at += 2) {
    moving.push({ order: moves[at] as string, goods: JSON.parse(moves[at + 1] as string) as Goods })
  }
  return { kind: 'stock', left: Number(left), held: Number(held), sold: Number(sold), moving }
}
