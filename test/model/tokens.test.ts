import { describe, expect, it } from 'vitest'
import { EMPTY, seqOf, tokenOf } from '../../src/model/index.ts'
import { Key, tokenIn } from './key.ts'
import { tokens } from './properties/tokens.ts'
import { prove } from './property.ts'

const HOUR_US = 3_600_000_000

describe('tokens', () => {
  prove(tokens)

  it('begin at the wall clock, with 255 spare ones for local hand-overs', () => {
    const key = new Key()
    expect(key.claim('a')).toEqual({
      kind: 'granted',
      token: 1_700_000_000_000_000n * 256n,
      spare: 255,
      contended: false,
    })
  })

  it('go on from the last one when the wall clock was set back', () => {
    const key = new Key()
    const first = tokenIn(key.claim('a'))
    key.release('a')
    key.skewUs = -HOUR_US
    expect(tokenIn(key.claim('b'))).toBe(first + 256n)
  })

  it('rise after the key was forgotten, because time has passed', () => {
    const key = new Key()
    const first = tokenIn(key.claim('a'))
    key.nowMs = 100_000
    key.state = EMPTY
    expect(tokenIn(key.claim('b'))).toBeGreaterThan(first + 255n)
  })

  it('can come back only when the key was forgotten and the clock stands further back than the time since', () => {
    const key = new Key()
    const first = tokenIn(key.claim('a'))
    key.nowMs = 100_000
    key.skewUs = -HOUR_US
    key.state = EMPTY
    expect(tokenIn(key.claim('b'))).toBeLessThan(first)
  })

  it('name the same grant whether they were handed over or not', () => {
    expect(seqOf(tokenOf(1_700_000_000_000_001))).toBe(1_700_000_000_000_001)
    expect(seqOf(tokenOf(1_700_000_000_000_001) + 255n)).toBe(1_700_000_000_000_001)
    expect(seqOf(tokenOf(1_700_000_000_000_001) + 256n)).toBe(1_700_000_000_000_002)
  })
})
