import { amount, type Deal, type DealAnswer, type Move } from '../model/index.ts'

type Trade = (stripe: number, deal: Deal) => Promise<DealAnswer>
export type TakeDeal = Deal & { readonly kind: 'take' }

interface Sight {
  readonly stripe: number
  readonly left: number
  readonly moving: readonly Move[]
}

/** Other buyers may take the moved goods first; after so many rounds the buyer gets `short`. */
const ROUNDS = 8
const MOVE = 'move.'
const MARK = '~'

/** The order of a user's request in the store: never one of a move. */
export function orderOf(request: string): string {
  return request.startsWith(MOVE) || request.startsWith(MARK) ? MARK + request : request
}

/**
 * Takes from a stripe that has too little, after moving goods of other stripes there. A move is three steps, each of which
 * has its effect once: out of the giver, into the taker, and forgotten by the giver. Moving goods have no owner and are
 * visible to every process, so the next process finishes a move that its starter did not: the total is exact.
 */
export async function gatherGoods(
  trade: Trade,
  stripes: number,
  home: number,
  take: TakeDeal,
  newId: () => string,
): Promise<DealAnswer> {
  let answer: DealAnswer = { kind: 'short', left: 0 }
  for (let round = 0; round < ROUNDS; round++) {
    const sights = await Promise.all(Array.from({ length: stripes }, (_, stripe) => sightOf(trade, stripe)))
    for (const { stripe, moving } of sights) for (const move of moving) await finish(trade, stripe, move)
    const total = sights.reduce((sum, sight) => sum + sight.left + onTheWay(sight.moving), 0)
    if (total < take.count) return { kind: 'short', left: total }
    const needed = take.count - (sights[home]?.left ?? 0)
    await fetchGoods(trade, home, needed, sights, newId)
    answer = await trade(home, take)
    if (answer.kind !== 'short') return answer
  }
  return answer
}

/** Distributes a delivery, which arrives in one stripe as one step, over the other stripes. */
export async function spreadGoods(
  trade: Trade,
  stripes: number,
  giver: number,
  delivered: number,
  newId: () => string,
): Promise<void> {
  const share = Math.floor(delivered / stripes)
  if (share === 0) return
  const takers = Array.from({ length: stripes }, (_, stripe) => stripe).filter((stripe) => stripe !== giver)
  await Promise.all(takers.map((taker) => move(trade, giver, taker, share, newId)))
}

async function fetchGoods(
  trade: Trade,
  home: number,
  needed: number,
  sights: readonly Sight[],
  newId: () => string,
): Promise<void> {
  const givers = sights
    .filter(({ stripe, left }) => stripe !== home && left > 0)
    .sort((a, b) => b.left - a.left)
  let missing = needed
  for (const { stripe, left } of givers) {
    if (missing <= 0) return
    // Half of a rich stripe's goods, so that the next buyers need no move.
    const count = Math.min(left, Math.max(missing, Math.floor(left / 2)))
    if (await move(trade, stripe, home, count, newId)) missing -= count
  }
}

/** True if the giver had so many. */
async function move(
  trade: Trade,
  giver: number,
  taker: number,
  count: number,
  newId: () => string,
): Promise<boolean> {
  const order = `${MOVE}${taker}.${newId()}`
  const out = await trade(giver, { kind: 'take', order, buyer: null, count, perBuyer: null, holdMs: null })
  if (out.kind !== 'taken') return false
  await finish(trade, giver, { order, goods: out.goods })
  return true
}

async function finish(trade: Trade, giver: number, { order, goods }: Move): Promise<void> {
  const taker = Number(order.split('.')[1])
  const arrival = await trade(taker, { kind: 'add', order, goods })
  if (arrival.kind === 'added') await trade(giver, { kind: 'ship', order })
}

async function sightOf(trade: Trade, stripe: number): Promise<Sight> {
  const answer = await trade(stripe, { kind: 'look' })
  return answer.kind === 'stock'
    ? { stripe, left: answer.left, moving: answer.moving }
    : { stripe, left: 0, moving: [] }
}

function onTheWay(moving: readonly Move[]): number {
  return moving.reduce((sum, { goods }) => sum + amount(goods), 0)
}
