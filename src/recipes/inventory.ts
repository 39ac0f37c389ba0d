import type { Duration } from '../core/api.ts'
import { show } from '../core/durations.ts'
import type { Records } from '../core/store.ts'
import { ConflictError, InvalidArgumentError, quote } from '../errors.ts'
import { amount, type Deal, type DealAnswer, type Goods } from '../model/index.ts'
import { type Kit, keepMs, keyFor, recordsOf, wholeNumber } from './kit.ts'
import { stripeOf } from './striped.ts'
import { gather } from './stripes.ts'

export interface InventoryOptions {
  /** The most that one buyer may have, held or bought. */
  perBuyer?: number
  /** Goods that are taken are held that long and return unless they are confirmed; without it they are sold at once. */
  hold?: Duration
  /** Into how many parts the stock is split, for goods that very many want at once: 1 by default. */
  stripes?: number
}

export interface TakeOptions {
  /** How many, all or nothing: 1 by default. */
  count?: number
  /** Names the purchase: the same request takes once and gets the same answer again. */
  request?: string
}

/** What became of a purchase. `order` is for `confirm` and `giveBack`. */
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

const MOST_GOODS = 1_000_000_000
const MOST_UNITS = 100_000
const MOST_STRIPES = 256
const LONGEST_NAME_BYTES = 256
/** For so long, that nothing was left anywhere is believed without asking every stripe again. */
const EMPTY_MS = 50

/** Stock that cannot be oversold: every step is one atomic step in the store. */
export class Inventory {
  private readonly kit: Kit
  private readonly name: string
  private readonly stripes: readonly string[]
  private readonly perBuyer: number | null
  private readonly holdMs: number | null
  private emptyUntilMs = Number.NEGATIVE_INFINITY

  constructor(kit: Kit, name: string, { perBuyer, hold, stripes = 1 }: InventoryOptions = {}) {
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
    const parts = split(checkedGoods(goods), this.stripes.length)
    const ttlMs = options.ttl === undefined ? null : keepMs('ttl', options.ttl)
    for (const [index, stripe] of this.stripes.entries()) {
      const part = parts[index] as Goods
      const answer = await this.trade(stripe, { kind: 'open', goods: part, ttlMs })
      if (answer.kind !== 'opened' || (!answer.created && !same(answer.goods, part)))
        throw new ConflictError(`the stock of ${quote(this.name)} was opened with other goods`)
    }
  }

  /** Adds goods, once per request. */
  async add(goods: Goods, options: { request: string }): Promise<void> {
    const order = checkedName('request', options.request)
    const parts = split(checkedGoods(goods), this.stripes.length)
    for (const [index, stripe] of this.stripes.entries()) {
      const part = parts[index] as Goods
      if (amount(part) === 0) continue
      const answer = await this.trade(stripe, { kind: 'add', order, goods: part })
      if (answer.kind === 'unfit')
        throw new ConflictError(`the stock of ${quote(this.name)} has counted goods or named units, not both`)
    }
    this.emptyUntilMs = Number.NEGATIVE_INFINITY
  }

  async take(buyer: string, options: TakeOptions = {}): Promise<Taken> {
    checkedName('buyer', buyer)
    const { count = 1, request = this.kit.runtime.newId() } = options
    wholeNumber('count', count, 1, MOST_GOODS)
    const { perBuyer, holdMs } = this
    const home = stripeOf(buyer, this.stripes.length)
    const deal: Deal = {
      kind: 'take',
      order: checkedName('request', request),
      buyer,
      count,
      perBuyer,
      holdMs,
    }
    const stripe = this.stripes[home] as string
    let answer = await this.trade(stripe, deal)
    if (answer.kind === 'short' && this.stripes.length > 1)
      answer = await this.takeFromAll(home, deal, answer)
    switch (answer.kind) {
      case 'taken':
        return takenOf(`${home}.${request}`, answer.goods)
      case 'short':
        return { kind: 'soldOut', left: answer.left }
      case 'limit':
        return { kind: 'limit', has: answer.has }
      default:
        return { kind: 'givenBack' }
    }
  }

  /** Sells what was held; `ConflictError` when the hold ran out or was given back. */
  async confirm(order: string): Promise<void> {
    const answer = await this.settle(order, 'confirm')
    if (answer === 'settled') return
    const why = answer === 'returned' ? 'was given back' : 'ran out, or there never was one'
    throw new ConflictError(`the hold of order ${quote(order)} ${why}`)
  }

  /** Puts what was taken back; false when nothing is held or sold under that order. */
  async giveBack(order: string): Promise<boolean> {
    const settled = (await this.settle(order, 'giveBack')) === 'settled'
    if (settled) this.emptyUntilMs = Number.NEGATIVE_INFINITY
    return settled
  }

  /** How many can be taken. */
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

  /** How many are held and neither confirmed nor given back. */
  async held(): Promise<number> {
    return (await this.look()).reduce((sum, look) => sum + look.held, 0)
  }

  private async takeFromAll(
    home: number,
    deal: Deal & { kind: 'take' },
    short: DealAnswer,
  ): Promise<DealAnswer> {
    if (this.kit.runtime.nowMs() < this.emptyUntilMs) return short
    const trade = (stripe: number, step: Deal) => this.trade(this.stripes[stripe] as string, step)
    const answer = await gather(trade, this.stripes.length, home, deal, () => this.kit.runtime.newId())
    if (answer.kind === 'short' && answer.left === 0) this.emptyUntilMs = this.kit.runtime.nowMs() + EMPTY_MS
    return answer
  }

  private async settle(order: string, kind: 'confirm' | 'giveBack'): Promise<DealAnswer['kind']> {
    const [, home, request] = /^(\d+)\.(.+)$/s.exec(checkedName('order', order)) ?? []
    const stripe = this.stripes[Number(home)]
    if (stripe === undefined || request === undefined)
      throw new InvalidArgumentError(
        'order',
        `must be the order of something that was taken, not ${show(order)}`,
      )
    return (await this.trade(stripe, { kind, order: request })).kind
  }

  private async look(): Promise<(DealAnswer & { kind: 'stock' })[]> {
    const looks = await Promise.all(this.stripes.map((stripe) => this.trade(stripe, { kind: 'look' })))
    return looks as (DealAnswer & { kind: 'stock' })[]
  }

  private async trade(stripe: string, deal: Deal): Promise<DealAnswer> {
    const records: Records = recordsOf(this.kit, 'an inventory')
    const answer = await records.trade(stripe, deal)
    if (answer.kind === 'absent')
      throw new ConflictError(`there is no stock of ${quote(this.name)}: open it with stock()`)
    return answer
  }
}

function takenOf(order: string, goods: Goods): Taken {
  const units = typeof goods === 'number' ? [] : goods
  return { kind: 'taken', order, count: amount(goods), units }
}

/** As even as it goes; units keep their order inside a part. */
function split(goods: Goods, parts: number): Goods[] {
  return Array.from({ length: parts }, (_, part) => {
    if (typeof goods === 'number') return Math.floor(goods / parts) + (part < goods % parts ? 1 : 0)
    return goods.filter((_, index) => index % parts === part)
  })
}

function same(goods: Goods, others: Goods): boolean {
  return JSON.stringify(goods) === JSON.stringify(others)
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

function checkedName(argument: string, value: string): string {
  const bytes = typeof value === 'string' ? Buffer.byteLength(value) : 0
  if (bytes >= 1 && bytes <= LONGEST_NAME_BYTES) return value
  throw new InvalidArgumentError(
    argument,
    `must be a text of 1 to ${LONGEST_NAME_BYTES} bytes, not ${show(value)}`,
  )
}
