import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Store, StoreNotice } from '../../../src/core/store.ts'
import type { Answer, Claim, Clock, Event } from '../../../src/model/index.ts'
import { SQL_RULES } from '../../../src/stores/shared/sql.ts'
import { CROWD_KINDS, crowdActions, crowdOf, placesOf } from '../crowd-story.ts'
import { comparable } from '../positions.ts'
import { claimOf } from './claims.ts'
import { type Action, KEYS, plan } from './plan.ts'
import { Reference, Tokens } from './reference.ts'
import { FIRST_BOOT, Machine } from './world.ts'

/** FC_SEED repeats a failure. */
const SEED = Number(process.env.FC_SEED ?? (Math.random() * 2 ** 31) | 0)

test('the store has the answers, notifications and views of the model, on its fast paths and off them', async () => {
  const { machine, stores, told } = openAll()
  let runs = 0
  await fc.assert(
    fc.asyncProperty(plan, async ({ claims, actions }) => {
      const prefix = `run${++runs}:`
      const idOf = (place: number) => `${prefix}${place}`
      const scene = claims.map(({ replaces, key, ...fields }, place) =>
        claimOf(prefix + key, {
          ...fields,
          id: idOf(place),
          replaces: replaces === null || replaces === place ? null : idOf(replaces),
        }),
      )
      for (const list of told) list.length = 0
      const trial = new Trial(machine, stores, prefix, scene)
      for (const action of actions) await trial.playAndLook(action)
      await trial.collectNotices(told)
      trial.verify()
    }),
    { numRuns: 300 },
  )
}, 120_000)

test.each(CROWD_KINDS)(
  `the same with a crowd of 200 waiters, by seed ${SEED}: %s`,
  async (kind) => {
    const { machine, stores, told } = openAll()
    const prefix = 'crowd:'
    const key = `${prefix}x`
    const scene = crowdOf(kind, 700, 5000).map((wish, place) => claimOf(key, { ...wish, id: prefix + place }))
    const trial = new Trial(machine, stores, prefix, scene)
    for (const action of crowdActions(SEED, SQL_RULES.offerMs, () => trial.heldBy(key)))
      await trial.playAndLook(action)
    await trial.collectNotices(told)
    trial.verify()
  },
  120_000,
)

function openAll() {
  const machine = new Machine()
  // The third one only looks, so that looking does not move the clock of the two that act.
  const stores = [machine.open(), machine.open(), machine.open()]
  const told: StoreNotice[][] = [[], [], []]
  for (const [index, store] of stores.entries()) store.notices((notice) => told[index]?.push(notice))
  return { machine, stores, told }
}

/** The same things happen to the store and to the model. */
class Trial {
  private readonly machine: Machine
  private readonly stores: readonly Store[]
  private readonly prefix: string
  private readonly scene: readonly Claim[]
  private readonly model = new Reference()
  private readonly ours = new Tokens()
  private readonly theirs = new Tokens()
  private readonly pairs: { key: string; got: unknown; wanted: unknown }[] = []
  private stampUs = 0

  constructor(machine: Machine, stores: readonly Store[], prefix: string, scene: readonly Claim[]) {
    this.machine = machine
    this.stores = stores
    this.prefix = prefix
    this.scene = scene
  }

  heldBy(key: string): readonly number[] {
    return placesOf(this.model.get(key).holds, this.prefix)
  }

  async playAndLook(action: Action): Promise<void> {
    for (const key of new Set(await this.play(action))) await this.lookAt(key)
  }

  /** Returns the keys that are now as they are shown; of others, a view may foretell a grant whose token is not made yet. */
  private async play(action: Action): Promise<readonly string[]> {
    switch (action.kind) {
      case 'pass':
        await this.machine.runtime.advance(action.ms)
        this.machine.runtime.shiftWall(action.skewMs)
        return []
      case 'evict':
      case 'revoke':
        return this.evict(this.prefix + KEYS[action.key], action.back, action.kind === 'revoke')
      case 'group':
        await this.call('attempt', action.who, action.places, 'g')
        return []
      default:
        return this.call(action.kind, action.who, action.places, null)
    }
  }

  private async lookAt(key: string): Promise<void> {
    this.compare([{ key }], [await this.stores[2]?.admin.read(key)], [this.model.view(key, this.clock())])
  }

  async collectNotices(told: readonly StoreNotice[][]): Promise<void> {
    for (const [index, wanted] of this.model.told.entries()) {
      const got = told[index] ?? []
      // Letters to the other process go through a file.
      for (let tries = 0; tries < 100 && got.length < wanted.length; tries++) {
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      for (const name of KEYS) {
        const key = this.prefix + name
        this.compare([{ key }], [noticesAbout(key, got)], [noticesAbout(key, wanted)])
      }
    }
  }

  verify(): void {
    for (const { key, got, wanted } of this.pairs) {
      expect(this.ours.ranked(key, got)).toEqual(this.theirs.ranked(key, wanted))
    }
  }

  private async call(
    kind: 'attempt' | 'renew' | 'release',
    who: number,
    places: readonly number[],
    group: string | null,
  ): Promise<readonly string[]> {
    const claims = places.map((place) => ({ ...(this.scene[place] as Claim), group }))
    const answers = await (this.stores[who] as Store)[kind](claims)
    const clock = this.clock()
    const wanted =
      kind === 'attempt' ? this.model.attempt(claims, who, clock) : this.model[kind](claims, clock)
    const got = answers.map((answer, place) =>
      comparable(answer as Answer<Event>, wanted[place] as Answer<Event>),
    )
    this.compare(claims, got, wanted)
    return claims.map(({ key }) => key)
  }

  private async evict(key: string, back: number | null, ask: boolean): Promise<readonly string[]> {
    const [mine, reference] = [this.ours.pick(key, back), this.theirs.pick(key, back)]
    if (back !== null && mine === null) return []
    const answer = await this.stores[0]?.admin.evict(key, mine, ask)
    this.compare([{ key }], [answer], [this.model.evict(key, reference, ask, this.clock())])
    return [key]
  }

  /** Notes what both sides show; it is compared when all tokens are known. */
  private compare(of: readonly { key: string }[], got: readonly unknown[], wanted: readonly unknown[]): void {
    expect(got.length).toBe(wanted.length)
    for (const [index, { key }] of of.entries()) {
      this.ours.note(key, got[index])
      this.theirs.note(key, wanted[index])
      this.pairs.push({ key, got: got[index], wanted: wanted[index] })
    }
  }

  private clock(): Clock {
    const { runtime } = this.machine
    this.stampUs = Math.max(this.stampUs + 1, runtime.wallMs() * 1000)
    return { nowMs: FIRST_BOOT.originMs + runtime.nowMs(), stampUs: this.stampUs }
  }
}

/** In an order of their own: what a store tells itself overtakes what it is told by another. */
function noticesAbout(key: string, notices: readonly StoreNotice[]): StoreNotice[] {
  const orderOf = (notice: StoreNotice) =>
    [
      notice.id,
      notice.kind,
      'cause' in notice ? notice.cause : '',
      'token' in notice ? [notice.storeTimeMs, notice.token] : '',
    ].join()
  return notices
    .filter((notice) => notice.key === key)
    .sort((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1))
}
