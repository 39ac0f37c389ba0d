import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Store, StoreNotice } from '../../../src/core/store.ts'
import type { Claim, Clock, KeyState, KeyView } from '../../../src/model/index.ts'
import { NO_TOKEN, SQL_RULES } from '../../../src/stores/shared/sql.ts'
import { placesOf } from '../crowd-story.ts'
import { claimOf } from '../sqlite/claims.ts'
import { type Action, KEYS } from '../sqlite/plan.ts'
import { Reference, Tokens } from '../sqlite/reference.ts'

/** Positions are exact up to here. */
const EXACT = 3
/** A ttl that ends in a story only if the story waits for it, and one that never ends in a story. */
export const SHORT_MS = 900
export const LONG_MS = 120_000
/** A story waits for an end that comes within this time. */
const PATIENCE_MS = 3000
/** With answers later than this a story proves nothing about times. */
const LATE_MS = 500

/** A claim ended during a call, so the order of the two is unknown. */
export class Unclear extends Error {}

export interface Plan {
  readonly claims: readonly (Omit<Partial<Claim>, 'replaces' | 'key' | 'ttlMs'> & {
    readonly key: string
    readonly ttlMs: number
    readonly replaces: number | null
  })[]
}

/** The claims of a plan, with unique names. */
export function sceneOf(prefix: string, { claims }: Plan): readonly Claim[] {
  const idOf = (place: number) => `${prefix}${place}`
  return claims.map(({ replaces, key, ...fields }, place) =>
    claimOf(prefix + key, {
      ...fields,
      id: idOf(place),
      label: `label "${place}" of \\ ü`,
      actor: place % 2 === 0 ? `actor ${place}` : null,
      meta: place % 3 === 0 ? `{"place":${place}}` : null,
      ttlMs: fields.ttlMs < 1000 ? SHORT_MS : LONG_MS,
      replaces: replaces === null || replaces === place ? null : idOf(replaces),
    }),
  )
}

/** Applies the same actions to two stores over one database, like two processes, and to the model, and compares the outcomes. */
export class Story {
  /** How many answers, views and notices were compared. */
  compared = 0
  private readonly stores: readonly Store[]
  private readonly prefix: string
  private readonly scene: readonly Claim[]
  private readonly model = new Reference(SQL_RULES)
  private readonly ours = new Tokens()
  private readonly theirs = new Tokens()
  private readonly pairs: { key: string; what: string; got: unknown; wanted: unknown }[] = []
  /** Keys where the store may count waiters that are dead in the model. */
  private readonly stale = new Set<string>()
  private slackMs = 20
  private stampUs = 0

  constructor(stores: readonly Store[], prefix: string, scene: readonly Claim[]) {
    this.stores = stores
    this.prefix = prefix
    this.scene = scene
  }

  get heldBy(): (key: string) => readonly number[] {
    return (key) => placesOf(this.model.get(key).holds, this.prefix)
  }

  async play(action: Action): Promise<void> {
    switch (action.kind) {
      case 'pass':
        return this.pass()
      case 'evict':
      case 'revoke':
        return this.evict(this.prefix + KEYS[action.key], action.back, action.kind === 'revoke')
      case 'group':
        return this.call('attempt', action.who, action.places, 'g')
      default:
        return this.call(action.kind, action.who, action.places, null)
    }
  }

  /** Compares a key as operators see it. */
  async lookAt(key: string): Promise<void> {
    const [view, clock] = await this.timed([key], () => this.stores[1]?.admin.read(key))
    this.compare(key, 'view', shown(view as KeyView), shown(this.model.view(key, clock)))
  }

  /** A database with push has notified the process of each waiter that was granted its key. */
  async compareGrants(told: readonly (readonly StoreNotice[])[]): Promise<void> {
    for (const [who, all] of this.model.told.entries()) {
      const wanted = all.filter(({ kind }) => kind === 'granted')
      const got = () =>
        told[who]?.filter(({ kind, key }) => kind === 'granted' && key.startsWith(this.prefix)) ?? []
      for (let tries = 0; tries < 200 && got().length < wanted.length; tries++) await sleep(10)
      this.compare(this.prefix, 'grants', got().map(grantOf).sort(), wanted.map(grantOf).sort())
    }
  }

  /** Each side has its own tokens, so they are compared by rank, at the end, when all are known. */
  verify(): void {
    for (const { key, what, got, wanted } of this.pairs)
      expect({ what, is: this.ours.ranked(key, got) }).toEqual({
        what,
        is: this.theirs.ranked(key, wanted),
      })
  }

  private async call(
    kind: 'attempt' | 'renew' | 'release',
    who: number,
    places: readonly number[],
    group: string | null,
  ): Promise<void> {
    const claims = places.map((place) => ({ ...(this.scene[place] as Claim), group }))
    const keys = [...new Set(claims.map(({ key }) => key))]
    // The renewal of a waiter does not apply the passing of time to its key.
    await this.tick(kind === 'renew' ? [] : keys)
    const [answers, clock] = await this.timed(keys, () => (this.stores[who] as Store)[kind](claims))
    const wanted =
      kind === 'attempt' ? this.model.attempt(claims, who, clock) : this.model[kind](claims, clock)
    for (const [place, { key, id }] of claims.entries()) {
      const stale = this.stale.has(key)
      const answer = answerOf(answers[place], wanted[place], stale)
      this.compare(key, `${kind} ${id}`, answer, answerOf(wanted[place], wanted[place], stale))
    }
    // A group that is not granted leaves everything as it was, so the view may foretell a grant.
    if (group === null) for (const key of keys) await this.lookAt(key)
  }

  private async evict(key: string, back: number | null, ask: boolean): Promise<void> {
    const [mine, reference] = [this.ours.pick(key, back), this.theirs.pick(key, back)]
    if (back !== null && mine === null) return
    await this.tick([key])
    const [answer, clock] = await this.timed([key], () => this.stores[0]?.admin.evict(key, mine, ask))
    const wanted = this.model.evict(key, reference, ask, clock)
    this.compare(key, ask ? 'revoke' : 'evict', sorted(answer), sorted(wanted))
    this.stale.delete(key)
    await this.lookAt(key)
  }

  /** Until the next end of a claim. */
  private async pass(): Promise<void> {
    const nowMs = Date.now()
    const times = [...this.keys()].flatMap((key) => timesOf(this.model.get(key)))
    const next = times.filter((ms) => ms > nowMs && ms < nowMs + PATIENCE_MS).sort((a, b) => a - b)[0]
    if (next !== undefined) await sleep(next + this.slackMs + 5 - nowMs)
  }

  /** Applies the passing of time on both sides, except to the keys of the next step. */
  private async tick(but: readonly string[]): Promise<void> {
    for (const key of this.keys()) {
      const dead = timesOf(this.model.get(key)).some((ms) => ms <= Date.now())
      if (!dead || but.includes(key)) continue
      const [, clock] = await this.timed([key], () => this.stores[0]?.admin.evict(key, NO_TOKEN, false))
      this.model.evict(key, NO_TOKEN, false, clock)
      this.stale.delete(key)
    }
  }

  /** A call and its time, near which no claim ends. */
  private async timed<T>(keys: readonly string[], call: () => T): Promise<[Awaited<T>, Clock]> {
    const times = () => keys.flatMap((key) => timesOf(this.model.get(key)))
    const isNear = (ms: number) => Math.abs(ms - Date.now()) < this.slackMs + 30
    for (let near = times().filter(isNear); near.length > 0; near = times().filter(isNear))
      await sleep(Math.max(...near) + this.slackMs + 31 - Date.now())
    const sentMs = Date.now()
    for (const key of keys)
      if (this.model.get(key).queue.some(({ expiresAtMs }) => expiresAtMs <= sentMs)) this.stale.add(key)
    const value = await call()
    const nowMs = Date.now()
    this.slackMs = Math.max(this.slackMs, nowMs - sentMs + 10)
    const isUnclear = (ms: number) => ms > sentMs - this.slackMs && ms < nowMs + this.slackMs
    if (this.slackMs > LATE_MS || times().some(isUnclear)) throw new Unclear()
    this.stampUs = Math.max(this.stampUs + 1, nowMs * 1000)
    return [value, { nowMs, stampUs: this.stampUs }]
  }

  private compare(key: string, what: string, got: unknown, wanted: unknown): void {
    this.ours.note(key, got)
    this.theirs.note(key, wanted)
    this.pairs.push({ key, what: `${this.pairs.length}: ${what}`, got, wanted })
    this.compared++
  }

  private keys(): Set<string> {
    return new Set(this.scene.map(({ key }) => key))
  }
}

/** When time changes the state. */
function timesOf({ holds, queue, closedUntilMs }: KeyState): readonly number[] {
  const members = holds.flatMap((hold) => hold.members)
  const delays = members.map(({ expiresAtMs, lockDelayMs }) => expiresAtMs + lockDelayMs)
  return [...[...members, ...queue].map(({ expiresAtMs }) => expiresAtMs), ...delays, closedUntilMs]
}

interface Parts {
  readonly kind: string
  readonly position?: number
  readonly token?: bigint
  readonly spare?: number
  readonly contended?: boolean
  readonly reason?: string
  readonly holder?: { readonly label: string } | null
}

/** An answer without its times. Dead waiters count until a step removes them. */
function answerOf(given: unknown, reference: unknown, stale: boolean): object {
  const { kind, position = 0, token, spare, contended, reason, holder } = given as Parts
  const least = (reference as Parts).position ?? 0
  const place = stale ? Math.min(Math.max(position, 0), 1) : Math.min(position, EXACT + 1)
  const behind = position >= least
  return {
    ...{ kind, token, spare, reason, position: place, behind },
    contended: stale ? undefined : contended,
    isHeld: holder === undefined ? undefined : holder !== null,
  }
}

/** Holders stand in no order, waiters in that of the queue. */
function shown({ holders, queue, token, limit, closedForMs }: KeyView): object {
  return {
    holders: holders
      .map(({ heldMs: _, expiresInMs: _left, ...rest }) => rest)
      .sort((a, b) => (a.label < b.label ? -1 : 1)),
    line: queue.map(({ waitedMs: _, expiresInMs: _left, ...rest }) => rest),
    ...{ token, limit, isClosed: closedForMs > 0 },
  }
}

function sorted(answer: unknown): unknown {
  const { kind, labels } = answer as { kind: string; labels: readonly string[] }
  return { kind, labels: labels.toSorted() }
}

function grantOf(notice: StoreNotice): string {
  const { id, spare, lifeMs } = notice as StoreNotice & { kind: 'granted' }
  return `${id}, ${spare} to spare, for ${lifeMs} ms`
}
