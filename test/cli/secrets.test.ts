import { expect, it } from 'vitest'
import { redact, secretsOf } from '../../src/cli/secrets.ts'

const CANARY = 'can4ry p@ss/word'
const ENCODED = encodeURIComponent(CANARY)

it.each([
  `redis://user:${ENCODED}@cache:6379/0`,
  `rediss://:${ENCODED}@cache`,
  `redlock://u:${ENCODED}@a:1,b:2`,
  `postgres://app:${ENCODED}@db/shop?sslmode=require`,
  `mysql://db/shop?user=app&password=${ENCODED}`,
])('hides the password of %s, as written and as a client may repeat it', (url) => {
  const message = `cannot reach ${url}: access denied (using password "${CANARY}", raw ${ENCODED})`
  const shown = redact(message, secretsOf(url))
  expect(shown).not.toContain(CANARY)
  expect(shown).not.toContain(ENCODED)
  expect(shown).toContain('cannot reach')
})

it('hides the password of a URL that it does not know', () => {
  expect(redact('connect redis://user:canary@cache:6379 failed', [])).toBe(
    'connect redis://***@cache:6379 failed',
  )
})

it('leaves an address without secrets readable', () => {
  const text = 'cannot open sqlite:/var/lib/locks.db or redis://cache:6379/0'
  expect(redact(text, secretsOf('redis://cache:6379/0'))).toBe(text)
})

it.each(['postgres://ada@db/shop', 'postgres://ada:canary@db/shop', 'postgres://ada:ada@db/shop'])(
  'shows the user of %s, whom a refusal is about',
  (url) => {
    const shown = redact('password authentication failed for user "ada" (canary)', secretsOf(url))
    expect(shown).toContain('user "ada"')
    expect(shown.includes('canary')).toBe(!url.includes('canary'))
  },
)
