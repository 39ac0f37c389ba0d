import type { Runtime } from '../../core/runtime.ts'
import type { Deal, DealAnswer, FirstUse, Goods, Move } from '../../model/index.ts'
import { stockNames } from './names.ts'
import type { Scripting, ScriptName } from './scripting.ts'

/** Bounds the time of one call. */
const MOST_TAKES_PER_CALL = 100
const MOST_KINDS = 1000
/** A portion of the expired goods has returned, and nothing else was done. */
const AGAIN = 'again'
const ABSENT: DealAnswer = { kind: 'absent' }

type Take = Deal & { readonly kind: 'take' }

interface PendingTake {
  readonly take: Take
  readonly resolve: (answer: DealAnswer) => void
  readonly reject: (error: unknown) => void
}

/** Each step on a stock is one script; takes of one tick from the same stock travel together. */
export class Stocks {
  private readonly scripting: Scripting
  private readonly runtime: Runtime
  private readonly takes = new Map<string, PendingTake[]>()
  private readonly kinds = new Kinds()

  constructor(scripting: Scripting, runtime: Runtime) {
    this.scripting = scripting
    this.runtime = runtime
  }

  trade(key: string, deal: Deal): Promise<DealAnswer> {
    return deal.kind === 'take' ? this.collect(key, deal) : this.step(key, deal)
  }

  private async step(key: string, deal: Exclude<Deal, Take>): Promise<DealAnswer> {
    const [script, args, meaning] = messageOf(deal)
    const answer = await this.run(script, key, args)
    return answer === null ? ABSENT : meaning(answer as never)
  }

  /** A crowd of expired holds returns in portions, so that each call is short; the step follows the last one. */
  private async run(script: ScriptName, key: string, args: readonly string[]): Promise<unknown> {
    for (;;) {
      const answer = await this.scripting.run(script, stockNames(key), args)
      if (answer !== AGAIN) return answer
    }
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
    if (all.length === 1 && this.sell(key, all[0] as PendingTake)) return
    for (let first = 0; first < all.length; first += MOST_TAKES_PER_CALL)
      this.sendTogether(key, all.slice(first, first + MOST_TAKES_PER_CALL))
  }

  /** Tries the usual take; an unusual one is sent again in full. False if the take cannot be usual. */
  private sell(key: string, waiting: PendingTake): boolean {
    const { order, buyer, count, perBuyer, holdMs } = waiting.take
    const kind = this.kinds.of(key)
    if (kind === null || buyer === null || holdMs !== null || (kind === 'named' && count > 1)) return false
    const args = [order, buyer, String(count)]
    if (perBuyer !== null) args.push(String(perBuyer))
    this.scripting
      .run('stockSell', stockNames(key).slice(0, kind === 'named' ? 2 : 1), args, (answer) => {
        if (answer === null) this.sendTogether(key, [waiting])
        else waiting.resolve(taken(answer as TakeReply))
      })
      .catch(waiting.reject)
    return true
  }

  private sendTogether(key: string, some: readonly PendingTake[]): void {
    const args = some.flatMap(({ take }) => takeText(take))
    const meaning = (answers: unknown) => {
      for (const [index, { resolve }] of some.entries()) {
        const answer = answers === null ? ABSENT : taken((answers as TakeReply[])[index] as TakeReply)
        this.kinds.learn(key, answer)
        resolve(answer)
      }
    }
    this.run('stockTake', key, args)
      .then(meaning)
      .catch((error) => {
        for (const { reject } of some) reject(error)
      })
  }
}

function takeText({ order, buyer, count, perBuyer, holdMs }: Take): string[] {
  return [order, buyer ?? '', String(count), textOf(perBuyer), textOf(holdMs)]
}

/** The kind of each stock by its last take: the usual take needs it. */
class Kinds {
  private readonly kinds = new Map<string, 'counted' | 'named'>()

  /** Null if it is unknown, or the stock was sold out. */
  of(key: string): 'counted' | 'named' | null {
    return this.kinds.get(key) ?? null
  }

  learn(key: string, answer: DealAnswer): void {
    if (answer.kind !== 'taken') {
      this.kinds.delete(key)
      return
    }
    const kind = typeof answer.goods === 'number' ? 'counted' : 'named'
    if (this.kinds.get(key) === kind) return
    if (this.kinds.size >= MOST_KINDS) this.kinds.clear()
    this.kinds.set(key, kind)
  }
}

type Message = readonly [ScriptName, readonly string[], (answer: never) => DealAnswer]

function messageOf(deal: Exclude<Deal, Take>): Message {
  switch (deal.kind) {
    case 'open':
      return ['stockOpen', [JSON.stringify(deal.goods), textOf(deal.ttlMs)], opened]
    case 'add':
      return ['stockAdd', [deal.order, JSON.stringify(deal.goods)], plain]
    case 'register':
    case 'compare':
      return ['stockRegister', [deal.order, deal.buyer, String(deal.count), deal.kind], plain]
    case 'look':
      return ['stockLook', [], looked]
    default:
      return ['stockSettle', [deal.order, deal.kind], plain]
  }
}

function textOf(number: number | null): string {
  return number === null ? '' : String(number)
}

type PlainKind = 'added' | 'unfit' | 'fits' | 'settled' | 'returned' | 'unknown'

function plain(answer: string): DealAnswer {
  return conflictIn(answer) ?? { kind: answer as PlainKind }
}

/** An order that was first used for something else is answered with that use, as JSON. */
function conflictIn(answer: string): DealAnswer | null {
  if (!answer.startsWith('{')) return null
  const { kind, buyer, count } = JSON.parse(answer) as FirstUse
  return { kind: 'conflict', first: { kind, buyer: buyer === '' ? null : buyer, count } }
}

function opened([created, goods]: [unknown, string]): DealAnswer {
  return { kind: 'opened', created: Number(created) === 1, goods: JSON.parse(goods) as Goods }
}

type TakeReply = number | string

function taken(answer: TakeReply): DealAnswer {
  if (typeof answer === 'number') return { kind: 'taken', goods: answer }
  if (answer.startsWith('[')) return { kind: 'taken', goods: JSON.parse(answer) as Goods }
  const conflict = conflictIn(answer)
  if (conflict !== null) return conflict
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
