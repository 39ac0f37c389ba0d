import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import {
  type Claim,
  type Clock,
  EMPTY,
  type Event,
  type KeyState,
  releaseOf,
  step,
} from '../../../src/model/index.ts'
import { encodeLetter } from '../../../src/stores/sql/letters.ts'
import { PgClient, type PgPool } from '../../../src/stores/sql/postgres/clients/pg.ts'
import { PostgresDatabase } from '../../../src/stores/sql/postgres/database.ts'
import { channelOf } from '../../../src/stores/sql/postgres/push.ts'
import { tableNames } from '../../../src/stores/sql/server/names.ts'
import { rowOf, stateOf } from '../../../src/stores/sql/server/rows.ts'
import { RULES } from '../../../src/stores/sql/server/rules.ts'
import type { KeyRow, Served } from '../../../src/stores/sql/server/tables.ts'

const KEY = 'key "with" $quotes$ \\ and ü'
const TTL_MS = 60_000
const AGO_MS = 10

function claim(id: string, other: Partial<Claim> = {}): Claim {
  return {
    key: KEY,
    id,
    mode: { kind: 'exclusive' },
    ttlMs: TTL_MS,
    queue: true,
    owner: null,
    actor: null,
    label: `label of "${id}"`,
    meta: '{"a":"\\u0000"}',
    lockDelayMs: 0,
    group: null,
    replaces: null,
    ...other,
  }
}

/** The claims one after the other, a moment before now; the first has the key. */
function state(claims: readonly Claim[], nowMs: number): KeyState {
  let made: KeyState = EMPTY
  for (const each of claims) {
    const clock = { nowMs: nowMs - AGO_MS, stampUs: (nowMs - AGO_MS) * 1000 }
    made = step(made, { kind: 'claim', claim: each, inbox: `inbox of ${each.id}` }, clock, RULES).state
  }
  return made
}

interface Case {
  readonly claims: readonly Claim[]
  readonly alone: boolean
}

const shared = { mode: { kind: 'shared' } } as const
const permits = { mode: { kind: 'permits', limit: 3, weight: 1 } } as const

/** What stands in the row, and whether the statement does its work by itself: ends the hold of `a`, or puts `n` in the line. */
const RELEASES: Record<string, Case> = {
  'nobody waits': { claims: [claim('a')], alone: true },
  'one waits': { claims: [claim('a'), claim('b')], alone: true },
  'several wait': {
    claims: [claim('a'), claim('b', { lockDelayMs: 7, actor: 'x' }), claim('c', shared)],
    alone: true,
  },
  'the place of who waits ends before the offer would': {
    claims: [claim('a'), claim('b', { ttlMs: 500 })],
    alone: false,
  },
  'the place of who waits lasts as long as the offer': {
    claims: [claim('a'), claim('b', { ttlMs: RULES.offerMs + 60 * AGO_MS })],
    alone: true,
  },
  'the holder is not known to hold': { claims: [claim('z'), claim('a'), claim('b')], alone: false },
  'the holder is over': { claims: [claim('a', { ttlMs: 5 }), claim('b')], alone: false },
  'one in the line is dead': { claims: [claim('a'), claim('b'), claim('c', { ttlMs: 5 })], alone: false },
  'readers wait': { claims: [claim('a'), claim('b', shared), claim('c', shared)], alone: false },
  'a reader lets go': { claims: [claim('a', shared), claim('z', shared), claim('b')], alone: false },
  'a named owner waits': { claims: [claim('a'), claim('b', { owner: 'me' })], alone: false },
  'permits are held': { claims: [claim('a', permits)], alone: true },
  'a label that no JSON of PostgreSQL can have': {
    claims: [claim('a'), claim('b', { label: '\u0000' })],
    alone: false,
  },
}

const JOINS: Record<string, Case> = {
  'nobody waits': { claims: [claim('a')], alone: true },
  'one waits': { claims: [claim('a'), claim('b')], alone: true },
  'behind a reader': { claims: [claim('a'), claim('b', shared)], alone: true },
  'behind a named owner': { claims: [claim('a', { owner: 'me' })], alone: true },
  'with a long ttl before it': { claims: [claim('a', { ttlMs: 200_000_000 }), claim('b')], alone: true },
  'it waits already': { claims: [claim('a'), claim('n')], alone: false },
  'it holds the key': { claims: [claim('n')], alone: false },
  'the holder is over': { claims: [claim('a', { ttlMs: 5 })], alone: false },
  'the holder of a line is over': { claims: [claim('a', { ttlMs: 5 }), claim('b')], alone: false },
  'one in the line is dead': { claims: [claim('a'), claim('b', { ttlMs: 5 })], alone: false },
  'readers hold the key': { claims: [claim('a', shared)], alone: false },
  'permits are held': { claims: [claim('a', permits)], alone: false },
  'a label that no JSON of PostgreSQL can have': { claims: [claim('a', { label: '\u0000' })], alone: false },
}

describe('a step on a busy key that the database takes by itself', async () => {
  const server = await startPostgres()
  const pool = new pg.Pool({ connectionString: server.url, max: 1 })
  const database = new PostgresDatabase(
    new PgClient(pool as unknown as PgPool, false),
    tableNames('holdfast', '"'),
    false,
  )
  const ears = new pg.Client(server.url)
  const heard: { channel: string; payload: string }[] = []
  beforeAll(async () => {
    await database.prepare()
    await ears.connect()
    ears.on('notification', ({ channel, payload = '' }) => heard.push({ channel, payload }))
    for (const id of ['a', 'b']) await ears.query(`LISTEN "${channelOf(`inbox of ${id}`)}"`)
  })
  afterAll(async () => {
    await ears.end()
    await pool.end()
    await server.stop()
  })

  const put = async (claims: readonly Claim[]) => {
    heard.length = 0
    const { nowMs } = (await database.keys.look([KEY])).clock
    const made = rowOf(state(claims, nowMs), undefined, nowMs)
    await pool.query('DELETE FROM holdfast_keys')
    await pool.query('INSERT INTO holdfast_keys VALUES ($1, 1, $2, $3, $4, $5, $6)', [
      KEY,
      made.seq,
      made.holder,
      made.expiresAtMs,
      made.state,
      made.forgetAtMs,
    ])
    return { before: await read(), nowMs }
  }
  const read = async () => (await database.keys.look([KEY])).rows.get(KEY) as KeyRow

  /** The statement that leaves a row alone has not said that it did anything. */
  const untouched = async (before: KeyRow, served: unknown) => {
    expect(await read()).toEqual(before)
    if (served !== 'conflict') expect((served as Served).done.size).toBe(0)
  }

  const compare = async (before: KeyRow, event: Event, clock: Clock) => {
    const after = await read()
    const expected = step(stateOf(KEY, before), event, clock, RULES)
    const { revision, ...row } = after
    expect(revision).toBe(before.revision + 1)
    expect({ ...row, state: JSON.parse(row.state ?? 'null') }).toEqual({
      ...rowOf(expected.state, before, clock.nowMs),
      state: JSON.parse(rowOf(expected.state, before, clock.nowMs).state ?? 'null'),
    })
    await ears.query('SELECT 1')
    const letters = expected.letters.map(({ inbox, notice }) => {
      const channel = channelOf(inbox as string)
      return { channel, payload: JSON.parse(encodeLetter({ key: KEY, inbox, notice })) }
    })
    expect(heard.map(({ channel, payload }) => ({ channel, payload: JSON.parse(payload) }))).toEqual(letters)
    return expected.answer
  }

  it.each(Object.entries(RELEASES))('ends a hold as the model does: %s', async (_, { claims, alone }) => {
    const { before, nowMs } = await put(claims)
    const served = await database.keys.releaseSole([claim('a')]).catch((error) => database.reasonOf(error))
    if (!alone) return untouched(before, served)
    // The statement's clock shows in what it wrote.
    const after = await read()
    const sinceMs = stateOf(KEY, after).holds[0]?.members[0]?.sinceMs ?? nowMs
    const clock = { nowMs: sinceMs, stampUs: after.seq === before.seq ? 0 : after.seq }
    expect(await compare(before, releaseOf(claim('a')), clock)).toEqual({ kind: 'released' })
  })

  it.each(Object.entries(JOINS))('makes a claim wait as the model does: %s', async (_, { claims, alone }) => {
    const { before } = await put(claims)
    const served = await database.keys.joinLine(claim('n'), 'inbox of n').catch(database.reasonOf)
    if (!alone) return untouched(before, served)
    const { look, done } = served as Served
    expect(done.has(KEY)).toBe(true)
    expect(look?.rows.get(KEY)).toEqual(await read())
    const event = { kind: 'claim', claim: claim('n'), inbox: 'inbox of n' } as const
    expect(await compare(before, event, look?.clock as Clock)).toMatchObject({ position: claims.length })
  })
})
