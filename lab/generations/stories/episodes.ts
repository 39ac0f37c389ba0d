import type { Generation } from '../locks/index.ts'
import { type Assertion, claim } from '../scenario.ts'
import type { StoryFacts } from './facts.ts'

export type StoryName = 'crash' | 'slow' | 'gap' | 'pause' | 'failover' | 'minority'

/** One generation in one story. */
export interface Episode {
  readonly name: string
  readonly title: string
  readonly about: string
  readonly generation: Generation
  readonly story: StoryName
  readonly verdict: string
  readonly claims: (facts: StoryFacts) => readonly Assertion[]
}

const DEAD = (facts: StoryFacts): Assertion =>
  claim(facts.did('A', 'killed'), 'A was killed with the key in its hands')
const STUCK = (facts: StoryFacts): readonly Assertion[] => [
  DEAD(facts),
  claim(facts.did('B', 'gaveUp'), 'B waited for three ttls and did not get the key'),
  claim(
    facts.lifeLeftMs === -1,
    'the key has no expiry (PTTL is -1): it stays until somebody deletes it by hand',
  ),
]
const EXACT = (facts: StoryFacts, sold: number): Assertion =>
  claim(facts.sold === sold && facts.soldTooMany === 0, `${sold} sold, and the stock is exact`)
const WRONG = (facts: StoryFacts): Assertion =>
  claim(
    facts.soldTooMany > 0,
    `the stock is wrong: ${facts.sold} were sold, and it fell by ${facts.sold - facts.soldTooMany}`,
  )
const ALONE = (facts: StoryFacts): Assertion =>
  claim(facts.overlaps.length === 0, 'no two were ever inside at once')
const RECOVERED = (facts: StoryFacts): readonly Assertion[] => [
  DEAD(facts),
  claim(facts.did('B', 'sold'), 'B got the key when it had expired, and sold its unit'),
  EXACT(facts, 1),
]

export const EPISODES: readonly Episode[] = [
  {
    name: 'v1-crash',
    title: 'V1  SETNX without an expiry: the holder crashes',
    about: 'A creates the key and is killed before it deletes it. B waits.',
    generation: 'first',
    story: 'crash',
    claims: STUCK,
    verdict: 'A key without an expiry outlives its holder, and everybody waits for ever.',
  },
  {
    name: 'v1-two-steps',
    title: 'V1  SETNX, then EXPIRE: the holder crashes between the two',
    about: 'A creates the key, and is killed before its second command gives the key an expiry.',
    generation: 'twoStep',
    story: 'crash',
    claims: STUCK,
    verdict: 'Two commands are not one. V2 sets key and expiry by one: SET key value NX PX ttl.',
  },
  {
    name: 'v2-crash',
    title: 'V2  SET NX PX: the holder crashes',
    about: 'The same crash. The key now ends by itself.',
    generation: 'second',
    story: 'crash',
    claims: RECOVERED,
    verdict: 'Mended: a dead holder costs its ttl. But the value says nothing about who the holder is.',
  },
  {
    name: 'v2-slow',
    title: 'V2  SET NX PX without identity: work that outlasts the ttl',
    about:
      'A works for longer than the ttl, so B gets the key. Then A is done and deletes the key, which is that of B. C comes in.',
    generation: 'second',
    story: 'slow',
    claims: (facts) => [
      claim(facts.together('A', 'B'), 'A and B were inside at once: the key of A had expired'),
      claim(facts.robbed('A') === 'B', 'the DEL of A deleted the key of B'),
      claim(facts.together('B', 'C'), 'so B and C were inside at once as well'),
      WRONG(facts),
    ],
    verdict:
      'One slow holder starts a row of mistaken deletes. V3 writes an id into the key and deletes only its own.',
  },
  {
    name: 'v3-look-then-delete',
    title: 'V3  GET, compare, DEL: the key expires between GET and DEL',
    about:
      'A sees by GET that the key is its own, is paused, and sends its DEL when the key has become that of B.',
    generation: 'lookThenDelete',
    story: 'gap',
    claims: (facts) => [
      claim(facts.robbed('A') === 'B', 'the DEL of A deleted the key of B, although A had looked first'),
      claim(facts.together('B', 'C'), 'so B and C were inside at once'),
    ],
    verdict: 'Looking and deleting have to be one step of the server: a script.',
  },
  {
    name: 'v3-compare-and-delete',
    title: 'V3  compare and delete in one script: the same pause',
    about:
      'A is paused before it gives the key back, until the key is that of B. The script compares the id and deletes nothing.',
    generation: 'third',
    story: 'gap',
    claims: (facts) => [
      claim(facts.event('A', 'released')?.reply === '0', 'the script of A deleted nothing: it answered 0'),
      ALONE(facts),
    ],
    verdict:
      'Mended: nobody deletes the key of another. But the ttl is still a guess about how long work takes.',
  },
  {
    name: 'v3-slow',
    title: 'V3  identity without renewal: work that outlasts the ttl',
    about: 'A works for longer than the ttl, so B gets the key while A is still inside.',
    generation: 'third',
    story: 'slow',
    claims: (facts) => [
      claim(facts.together('A', 'B'), 'A and B were inside at once: the key of A had expired'),
      claim(
        facts.event('A', 'released')?.reply === '0',
        'A learnt of it when it was done: its script answered 0',
      ),
      WRONG(facts),
    ],
    verdict: 'A safe delete does not make the ttl long enough. V4 renews the key while its holder works.',
  },
  {
    name: 'v4-slow',
    title: 'V4  with a watchdog: work that outlasts the ttl',
    about: 'The same slow work. A timer in the process of A puts the expiry off every third of a ttl.',
    generation: 'fourth',
    story: 'slow',
    claims: (facts) => [ALONE(facts), EXACT(facts, 3)],
    verdict: 'Mended: the key lives as long as the work. But a process that stands still renews nothing.',
  },
  {
    name: 'v4-pause',
    title: 'V4  with a watchdog: the holder is paused',
    about:
      'A is stopped (as by a long garbage collection, a swap, a laptop lid) until B has the key. Then it goes on and writes.',
    generation: 'fourth',
    story: 'pause',
    claims: (facts) => [
      claim(facts.together('A', 'B'), 'A and B were inside at once after A woke up'),
      claim(facts.did('A', 'sold'), 'the late write of A was accepted'),
      WRONG(facts),
    ],
    verdict:
      'No lock can keep a paused holder from waking up. Only the resource can refuse its write, if it can tell it is old.',
  },
  {
    name: 'v4-failover',
    title: 'V4  with a watchdog: failover to a replica that lacks the key',
    about:
      'The primary says OK to A and is killed before its replica has the key. The replica is promoted, and B asks it.',
    generation: 'fourth',
    story: 'failover',
    claims: (facts) => [
      claim(facts.did('B', 'took'), 'B got the key from the promoted replica'),
      claim(facts.together('A', 'B'), 'A and B were inside at once'),
      WRONG(facts),
    ],
    verdict: 'Replication comes after the OK. What a failover forgets, the next holder gets as well.',
  },
  {
    name: 'fenced-crash',
    title: 'Holdfast: the holder crashes',
    about: 'A takes the lock and is killed. B waits.',
    generation: 'fenced',
    story: 'crash',
    claims: RECOVERED,
    verdict: 'A dead holder costs its ttl, no more.',
  },
  {
    name: 'fenced-slow',
    title: 'Holdfast: work that outlasts the ttl',
    about: 'A works for longer than the ttl; B and C wait in line.',
    generation: 'fenced',
    story: 'slow',
    claims: (facts) => [ALONE(facts), EXACT(facts, 3)],
    verdict: 'The lease is renewed while the work goes on.',
  },
  {
    name: 'fenced-pause',
    title: 'Holdfast: the holder is paused',
    about: 'A is stopped until B has the lock. Then it goes on and writes, with the token of its old lease.',
    generation: 'fenced',
    story: 'pause',
    claims: (facts) => [
      claim(facts.did('A', 'lost'), 'A knew by its own clock that its lease had ended'),
      claim(facts.did('A', 'refused'), 'the late write of A was refused: its token is behind that of B'),
      ALONE(facts),
      EXACT(facts, 1),
    ],
    verdict:
      'The token rises with every holder, and the stock refuses whoever comes with an older one than it has seen.',
  },
  {
    name: 'fenced-failover',
    title: 'Holdfast: failover to a replica that lacks the lock',
    about:
      'The primary grants A and is killed before its replica knows. The replica is promoted, and B asks it.',
    generation: 'fenced',
    story: 'failover',
    claims: (facts) => [
      claim(facts.did('B', 'took'), 'B got the lock from the promoted replica'),
      claim(facts.did('A', 'refused'), 'the late write of A was refused: its token is behind that of B'),
      EXACT(facts, 1),
    ],
    verdict:
      'Tokens come from time and not from a counter that a failover could forget, so the token of B is higher even here.',
  },
  {
    name: 'quorum-crash',
    title: 'Holdfast over three servers: one of them crashes',
    about:
      'A takes the lock in a majority of three independent servers, and one of them is killed. B asks the two that are left.',
    generation: 'fenced',
    story: 'minority',
    claims: (facts) => [
      claim(facts.happened('serverDied'), 'one of the three servers was killed while A was inside'),
      ALONE(facts),
      EXACT(facts, 2),
    ],
    verdict:
      'Any two majorities share a server, so what one server forgets, another one knows. The lock goes on while a minority is away.',
  },
]
