import { expect, it } from 'vitest'
import { suggestion } from '../../src/cli/secrets.ts'

const FIX = "wait 3 s; then: holdfast show 'holdfast evict x'   # or: holdfast evict a --token 7"

it('is left as it is where HOLDFAST_STORE or the default names the store', () => {
  expect(suggestion(FIX, undefined)).toBe(FIX)
})

it('names the store in every command, and leaves keys alone', () => {
  expect(suggestion(FIX, 'redis://cache:6380')).toBe(
    "wait 3 s; then: holdfast show --store redis://cache:6380 'holdfast evict x'   # or: holdfast evict --store redis://cache:6380 a --token 7",
  )
  expect(suggestion('holdfast reap --yes', 'sqlite:./a b.db')).toBe(
    "holdfast reap --store 'sqlite:./a b.db' --yes",
  )
})

it('names the store in the advice of an error, and leaves the key in it alone', () => {
  const advice = 'the lock "holdfast migrate" is in use: wait, and run holdfast migrate again'
  expect(suggestion(advice, 'postgres://db/shop')).toBe(
    'the lock "holdfast migrate" is in use: wait, and run holdfast migrate --store postgres://db/shop again',
  )
})

it.each([
  ['redis://:c4nary@cache:6380', "HOLDFAST_STORE='redis://***@cache:6380' holdfast reap --yes"],
  [
    'postgres://db/shop?password=c4nary',
    "HOLDFAST_STORE='postgres://db/shop?password=***' holdfast reap --yes",
  ],
])('never repeats a password: %s', (store, expected) => {
  expect(suggestion('holdfast reap --yes', store)).toBe(expected)
})
