import type { Duration } from '../core/api.ts'
import { checkOptions, type NamesOf } from '../core/check.ts'
import { show } from '../core/durations.ts'
import { ConflictError, InvalidArgumentError, quote } from '../errors.ts'
import { amount, type Deal, type DealAnswer, type FirstUse, type Goods, sameGoods } from '../model/index.ts'
import { keepMs, keyFor, type RecipeKit, recordsOf, wholeNumber } from './kit.ts'
import { type Trader, traderOf } from './stock-records.ts'
import { stripeOf } from './striped.ts'
import { gatherGoods, orderOf, spreadGoods, type TakeDeal } from './stripes.ts'

export interface InventoryOptions {
  /** The most that one buyer may have, held or bought. */
  perBuyer?: number
  /** Taken goods are held for so long and return unless they are confirmed; by default they are sold at once. */
  hold?: Duration
  /** The number of stripes, for goods in very high demand: 1 by default. */
  stripes?: number
}

export interface TakeOptions {
  /** The number of goods, all or nothing: 1 by default. */
  count?: number
  /**
   * Names the purchase: the same request takes once and gets the same answer again. `ConflictError` if it was used for another
   * buyer or count, or to add.
   */
  request?: string
}

/** The outcome of a purchase. `order` is for `confirm` and `giveBack`. */
export type Taken =
  | {
      readonly kind: 'taken'
      readonly order: string
      readonly count: number
      readonly units: readonly string[]
    }
  | { readonly kind: 'soldOut'; readonly left: number }
  | { readonly kind: 'limit'; readonly has: number }
  | { readonly kind: 'givenBack' }

const OPTIONS: NamesOf<InventoryOptions> = { perBuyer: true, hold: true, stripes: true }
const TAKE: NamesOf<TakeOptions> = { count: true, request: true }
const STOCK = { ttl: true } as const
const ADD = { request: true } as const
const MOST_GOODS = 1_000_000_000
const MOST_UNITS = 100_000
const MOST_STRIPES = 256
const LONGEST_NAME_BYTES = 256
/** The number of a stripe, then the request. */
const LONGEST_ORDER_BYTES = LONGEST_NAME_BYTES + 4
/** After every stripe was empty, the stock counts as empty for so long without asking all of them. */
const EMPTY_MS = 50

/** A stock that cannot be oversold: every step is one atomic step in the store. */
export class Inventory {
  private readonly kit: RecipeKit
  private readonly name: string
  private readonly stripes: readonly string[]
  private readonly perBuyer: number | null
  private readonly holdMs: number | null
  private traders: readonly Trader[] | null = null
  private emptyUntilMs = Number.NEGATIVE_INFINITY

  constructor(kit: RecipeKit, name: string, options: InventoryOptions = {}) {
    const { perBuyer, hold, stripes = 1 } = checkOptions('options', options, OPTIONS)
    this.kit = kit
    this.name = name
    this.perBuyer = perBuyer === undefined ? null : wholeNumber('perBuyer', perBuyer, 1, MOST_GOODS)
    this.holdMs = hold === undefined ? null : keepMs('hold', hold)
    wholeNumber('stripes', stripes, 1, MOST_STRIPES)
    const key = keyFor('inventory', 'name', name)
    this.stripes = Array.from({ length: stripes }, (_, stripe) =>
      kit.nameOf(stripes === 1 ? key : `${key}:${stripes}:${stripe}`),
    )
  }

  /** Opens the stock with a number of goods or with named units, once; `ConflictError` if it was opened with others. */
  async stock(goods: Goods, options: { ttl?: Duration } = {}): Promise<void> {
    checkOptions('options', options, STOCK)
    const parts = split(checkedGoods(goods), this.stripes.length)
    const ttlMs = options.ttl === undefined ? null : keepMs('ttl', options.ttl)
    for (const [stripe, part] of parts.entries()) {
      const answer = await this.trade(stripe, { kind: 'open', goods: part, ttlMs })
      if (answer.kind !== 'opened' || (!answer.created && !sameGoods(answer.goods, part)))
        throw new ConflictError(`the stock of ${quote(this.name)} was opened with other goods`)
    }
  }

  /** Adds goods, once per request; `ConflictError` if the request was used for other goods, or to take. */
  async add(goods: Goods, options: { request: string }): Promise<void> {
    checkOptions('options', options, ADD)
    const request = checkedName('request', options.request)
    const count = amount(checkedGoods(goods))
    if (count === 0) return
    const stripe = stripeOf(request, this.stripes.length)
    const answer = await this.trade(stripe, { kind: 'add', order: orderOf(request), goods })
    if (answer.kind === 'unfit')
      throw new ConflictError(`the stock of ${quote(this.name)} has counted goods or named units, not both`)
    if (answer.kind === 'conflict')
      throw this.conflict(request, answer.first, { kind: 'add', buyer: null, count })
    this.emptyUntilMs = Number.NEGATIVE_INFINITY
    const newId = () => this.kit.runtime.newId()
    await spreadGoods((...deal) => this.trade(...deal), this.stripes.length, stripe, count, newId)
  }

  async take(buyer: string, options: TakeOptions = {}): Promise<Taken> {
    checkedName('buyer', buyer)
    const { count = 1, request } = checkOptions('options', options, TAKE)
    wholeNumber('count', count, 1, MOST_GOODS)
    const name = request === undefined ? this.kit.runtime.newId() : checkedName('request', request)
    const { perBuyer, holdMs } = this
    const home = stripeOf(buyer, this.stripes.length)
    const deal = { kind: 'take', order: orderOf(name), buyer, count, perBuyer, holdMs } as const
    let answer = await this.trade(home, deal)
    if (answer.kind === 'short' && this.stripes.length > 1)
      answer = await this.takeFromAll(home, deal, answer)
    if (request !== undefined) answer = await this.registered(home, request, deal, answer)
    switch (answer.kind) {
      case 'taken':
        return takenOf(`${home}.${name}`, answer.goods)
      case 'short':
        return { kind: 'soldOut', left: answer.left }
      case 'limit':
        return { kind: 'limit', has: answer.has }
      case 'conflict':
        throw this.conflict(name, answer.first, { kind: 'take', buyer, count })
      default:
        return { kind: 'givenBack' }
    }
  }

  /** Sells held goods; `ConflictError` if the hold expired or was given back. */
  async confirm(order: string): Promise<void> {
    const answer = await this.settle(order, 'confirm')
    if (answer === 'settled') return
    const why = answer === 'returned' ? 'was given back' : 'ran out, or there never was one'
    throw new ConflictError(`the hold of order ${quote(order)} ${why}`)
  }

  /** Returns goods to the stock; false if nothing is held or sold under that order. */
  async giveBack(order: string): Promise<boolean> {
    const settled = (await this.settle(order, 'giveBack')) === 'settled'
    if (settled) this.emptyUntilMs = Number.NEGATIVE_INFINITY
    return settled
  }

  /** The number of goods left. */
  async remaining(): Promise<number> {
    const looks = await this.look()
    return looks.reduce(
      (sum, { left, moving }) => sum + left + moving.reduce((all, { goods }) => all + amount(goods), 0),
      0,
    )
  }

  async sold(): Promise<number> {
    return (await this.look()).reduce((sum, look) => sum + look.sold, 0)
  }

  /** The number of goods held, neither confirmed nor given back. */
  async held(): Promise<number> {
    return (await this.look()).reduce((sum, look) => sum + look.held, 0)
  }

  /**
   * A request has a home stripe, which knows its buyer: the stripes of two buyers do not know each other. Only goods taken
   * are registered, so that late buyers leave nothing behind. Goods given back here were not yet confirmed to
   * any caller.
   */
  private async registered(
    home: number,
    request: string,
    { order, buyer, count }: TakeDeal & { readonly buyer: string },
    answer: DealAnswer,
  ): Promise<DealAnswer> {
    const stripe = stripeOf(request, this.stripes.length)
    if (stripe === home || answer.kind === 'conflict') return answer
    const kind = answer.kind === 'taken' ? 'register' : 'compare'
    const known = await this.trade(stripe, { kind, order, buyer, count })
    if (known.kind !== 'conflict') return answer
    if (answer.kind === 'taken') {
      await this.trade(home, { kind: 'giveBack', order })
      this.emptyUntilMs = Number.NEGATIVE_INFINITY
    }
    return known
  }

  private conflict(request: string, first: FirstUse, now: FirstUse): ConflictError {
    const differs = `the request ${quote(request)} of ${quote(this.name)} was used before, with ${differences(first, now)}`
    return new ConflictError(`${differs}: give every purchase and every delivery a request of its own`)
  }

  private async takeFromAll(home: number, deal: TakeDeal, short: DealAnswer): Promise<DealAnswer> {
    if (this.kit.runtime.nowMs() < this.emptyUntilMs) return short
    const newId = () => this.kit.runtime.newId()
    const answer = await gatherGoods((...step) => this.trade(...step), this.stripes.length, home, deal, newId)
    if (answer.kind === 'short' && answer.left === 0) this.emptyUntilMs = this.kit.runtime.nowMs() + EMPTY_MS
    return answer
  }

  private async settle(order: string, kind: 'confirm' | 'giveBack'): Promise<DealAnswer['kind']> {
    const [, home, request] = /^(\d+)\.(.+)$/s.exec(checkedName('order', order, LONGEST_ORDER_BYTES)) ?? []
    const stripe = Number(home)
    if (request === undefined || stripe >= this.stripes.length)
      throw new InvalidArgumentError(
        'order',
        `must be the order of something that was taken, not ${show(order)}`,
      )
    return (await this.trade(stripe, { kind, order: orderOf(request) })).kind
  }

  private async look(): Promise<(DealAnswer & { kind: 'stock' })[]> {
    const looks = await Promise.all(this.stripes.map((_, stripe) => this.trade(stripe, { kind: 'look' })))
    return looks as (DealAnswer & { kind: 'stock' })[]
  }

  private async trade(stripe: number, deal: Deal): Promise<DealAnswer> {
    if (this.traders === null) {
      const records = recordsOf(this.kit, 'an inventory')
      this.traders = this.stripes.map((key) => traderOf(records, this.kit.runtime, key))
    }
    const answer = await (this.traders[stripe] as Trader)(deal)
    if (answer.kind === 'absent')
      throw new ConflictError(`there is no stock of ${quote(this.name)}: open it with stock()`)
    return answer
  }
}

function takenOf(order: string, goods: Goods): Taken {
  const units = typeof goods === 'number' ? [] : goods
  return { kind: 'taken', order, count: amount(goods), units }
}

/** As evenly as possible; units keep their order inside a part. */
function split(goods: Goods, parts: number): Goods[] {
  return Array.from({ length: parts }, (_, part) => {
    if (typeof goods === 'number') return Math.floor(goods / parts) + (part < goods % parts ? 1 : 0)
    return goods.filter((_, index) => index % parts === part)
  })
}

/** Without the buyer's name: the message may reach another user. */
function differences(first: FirstUse, now: FirstUse): string {
  if (first.kind !== now.kind) return `another operation (${first.kind}, not ${now.kind})`
  const parts: string[] = []
  if (first.buyer !== now.buyer) parts.push('another buyer')
  if (first.count !== now.count && first.count !== 0)
    parts.push(`another count (${first.count}, not ${now.count})`)
  return parts.length === 0 ? 'other units' : parts.join(' and ')
}

function checkedGoods(goods: Goods): Goods {
  if (typeof goods === 'number') return wholeNumber('goods', goods, 0, MOST_GOODS)
  if (!Array.isArray(goods) || goods.length > MOST_UNITS)
    throw new InvalidArgumentError('goods', `must be a number or a list of at most ${MOST_UNITS} names`)
  for (const unit of goods) checkedName('goods', unit)
  if (new Set(goods).size !== goods.length)
    throw new InvalidArgumentError('goods', 'must not name a unit twice')
  return goods
}

function checkedName(argument: string, value: string, maxBytes = LONGEST_NAME_BYTES): string {
  const bytes = typeof value === 'string' ? Buffer.byteLength(value) : 0
  if (bytes >= 1 && bytes <= maxBytes) return value
  throw new InvalidArgumentError(argument, `must be a text of 1 to ${maxBytes} bytes, not ${show(value)}`)
}
