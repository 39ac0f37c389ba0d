import { describe, expect, it } from 'vitest'
import { widthOf } from '../../src/cli/text.ts'
import { picture } from '../../src/cli/top/screen.ts'
import type { KeyView } from '../../src/index.ts'

const CLAIM = { owner: null, actor: null, mode: 'exclusive', weight: 1, meta: null } as const

const KEY: KeyView = {
  key: 'order:4211',
  holders: [{ ...CLAIM, label: 'web1.shop.example:4711', token: 1n, heldMs: 3_599_000, expiresInMs: 9100 }],
  queue: [{ ...CLAIM, label: 'web2.shop.example:17', waitedMs: 125_000, ttlMs: 10_000, expiresInMs: 9000 }],
  token: 1n,
  limit: null,
  closedForMs: 0,
}

function drawn(columns: number, keys: readonly KeyView[] = [KEY]): string[] {
  const at = '2026-11-16T12:34:56.000Z'
  const snapshot = { at, held: 1, waiting: 1, grantsPerSecond: 2.5, keys }
  return picture(snapshot, columns, 24, (_, text) => text)
}

describe('a picture', () => {
  it.each(Array.from({ length: 116 }, (_, at) => at + 10))('keeps within %i columns', (columns) => {
    for (const line of [...drawn(columns), ...drawn(columns, [])])
      expect(widthOf(line)).toBeLessThanOrEqual(columns)
  })

  it('shows all on a wide terminal', () => {
    expect(drawn(120)).toEqual([
      '12:34:56  1 holder, 1 waiting, at least 2.5 grants/s',
      'KEY         HELD BY                 MODE               FOR  LEFT  QUEUE  NEXT                     WAITED',
      'order:4211  web1.shop.example:4711  exclusive  59 min 59 s   9 s      1  web2.shop.example:17  2 min 5 s',
    ])
  })

  it.each([
    [
      80,
      'KEY        HELD BY    MODE               FOR  LEFT  QUEUE  NEXT           WAITED',
      'order:42…  web1.sho…  exclusive  59 min 59 s   9 s      1  web2.shop…  2 min 5 s',
    ],
    [
      50,
      'KEY       HELD BY            FOR  QUEUE     WAITED',
      'order:4…  web1.sho…  59 min 59 s      1  2 min 5 s',
    ],
    [40, 'KEY        HELD BY            FOR  QUEUE', 'order:42…  web1.sho…  59 min 59 s      1'],
    [30, 'KEY                 FOR  QUEUE', 'order:4211  59 min 59 s      1'],
  ])('of %i columns has what matters most', (columns, titles, row) => {
    const [, shownTitles, shownRow] = drawn(columns)
    expect([shownTitles, shownRow]).toEqual([titles, row])
  })
})
