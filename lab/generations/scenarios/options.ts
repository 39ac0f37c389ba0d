import { setTimeout as sleep } from 'node:timers/promises'
import type { Table } from '../figures.ts'
import { type Assertion, claim, type Scenario } from '../scenario.ts'
import { WireConnection } from '../wire/connection.ts'
import { RedisError, type Reply } from '../wire/protocol.ts'
import { textOf } from '../wire/text.ts'

interface Row {
  /** With `K` for the key. */
  readonly command: string
  readonly expected: (reply: Reply) => boolean
  readonly use: string
  /** Servers that are too old for it say so. */
  readonly newer?: true
}

const OK = (reply: Reply): boolean => reply === 'OK'
const NIL = (reply: Reply): boolean => reply === null
const is =
  (value: string | number) =>
  (reply: Reply): boolean =>
    reply === value
const about =
  (most: number, slack: number) =>
  (reply: Reply): boolean =>
    typeof reply === 'number' && reply <= most && reply > most - slack

function rowsOf(inAMinute: number): readonly Row[] {
  return [
    {
      command: 'SET K a NX PX 60000',
      expected: OK,
      use: 'takes a free key and gives it an expiry, in one step: a lock',
    },
    {
      command: 'SET K b NX PX 60000',
      expected: NIL,
      use: 'NX refuses while the key is there: somebody has the lock',
    },
    { command: 'GET K', expected: is('a'), use: 'and nothing was changed' },
    {
      command: 'SET K b NX GET',
      expected: is('a'),
      use: 'NX with GET tells in the same trip who has it (Redis 7)',
      newer: true,
    },
    {
      command: 'SET K a XX PX 90000',
      expected: OK,
      use: 'XX writes only a key that is there: renews, never creates',
    },
    { command: 'PTTL K', expected: about(90_000, 5_000), use: 'the expiry was put off' },
    {
      command: 'SET K b XX PX 90000',
      expected: OK,
      use: 'but XX does not ask whose it is: this one was stolen',
    },
    { command: 'SET K c KEEPTTL', expected: OK, use: 'KEEPTTL changes the value and leaves the expiry' },
    { command: 'PTTL K', expected: about(90_000, 5_000), use: 'still the same expiry' },
    { command: 'SET K d GET', expected: is('c'), use: 'GET gives the old value back: swap in one step' },
    {
      command: 'PTTL K',
      expected: is(-1),
      use: 'a plain SET takes the expiry away: the lock would stay for ever',
    },
    { command: 'SET K e EX 30', expected: OK, use: 'EX counts in seconds' },
    { command: 'TTL K', expected: about(30, 2), use: '' },
    {
      command: `SET K f PXAT ${inAMinute}`,
      expected: OK,
      use: 'EXAT and PXAT name a moment instead of a length (Redis 6.2)',
    },
    { command: 'PTTL K', expected: about(60_000, 10_000), use: '' },
    { command: 'DEL K', expected: is(1), use: '' },
    {
      command: 'SET K g XX',
      expected: NIL,
      use: 'XX on a key that has gone: a lock that was lost stays lost',
    },
    { command: 'SET K h PX 40', expected: OK, use: 'PX counts in milliseconds' },
  ]
}

/** The options of SET, each at work. */
export const OPTIONS: Scenario = {
  name: 'set-options',
  group: 'set-options',
  title: 'The options of SET: NX, XX, GET, EX, PX, PXAT and KEEPTTL at work',
  about:
    'Every command is sent to the server, and its answer is compared with what it should be. At last ten clients at once ask for one key.',
  async run({ place }) {
    const connection = await WireConnection.open(place.address.url)
    const key = place.keyFor('set')
    const rows: string[][] = []
    const wrong: string[] = []
    const note = (command: string, reply: Reply, fits: boolean, use: string): void => {
      rows.push([command.replaceAll(key, 'lock'), textOf(reply), use])
      if (!fits) wrong.push(`${command} -> ${textOf(reply)}`)
    }
    try {
      for (const { command, expected, use, newer } of rowsOf(Date.now() + 60_000)) {
        const reply = await connection.ask(...command.replace(' K', ` ${key}`).split(' '))
        const tooOld = newer === true && reply instanceof RedisError
        note(command.replace(' K', ' lock'), reply, tooOld || expected(reply), use)
      }
      await sleep(60)
      const gone = await connection.ask('GET', key)
      note('GET lock', gone, gone === null, 'and 60 ms later the key has gone by itself')
      const winners = await tenAtOnce(place.address.url, key)
      const figure: Table = {
        kind: 'table',
        title: 'SET and its options',
        columns: ['command', 'answer', 'what it is good for'],
        rows,
      }
      return {
        figures: [figure],
        claims: [
          claim(
            wrong.length === 0,
            wrong.length === 0 ? 'every answer was the expected one' : `unexpected: ${wrong.join('; ')}`,
          ),
          winnersClaim(winners),
        ],
        verdict:
          'One SET with NX and PX is a whole acquire. Everything after it (renew, release) has to compare the value first, which SET cannot: that takes a script.',
        data: { transcript: rows, winners },
      }
    } finally {
      await connection.ask('DEL', key).catch(() => null)
      connection.close()
    }
  },
}

async function tenAtOnce(url: string, key: string): Promise<number> {
  const clients = await Promise.all(Array.from({ length: 10 }, () => WireConnection.open(url)))
  try {
    const replies = await Promise.all(
      clients.map((client, at) => client.ask('SET', key, at, 'NX', 'PX', 60_000)),
    )
    return replies.filter(OK).length
  } finally {
    for (const client of clients) client.close()
  }
}

function winnersClaim(winners: number): Assertion {
  return claim(winners === 1, `ten clients sent SET NX at once, and ${winners} of them got OK`)
}
