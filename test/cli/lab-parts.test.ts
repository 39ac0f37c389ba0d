import { describe, expect, it } from 'vitest'
import { overlapsOf, robbedBy } from '../../lab/generations/cast/evidence.ts'
import { type Event, History } from '../../lab/generations/cast/history.ts'
import { timelineOf } from '../../lab/generations/cast/timeline.ts'
import { Warehouse } from '../../lab/generations/cast/warehouse.ts'
import { svgOf } from '../../lab/generations/drawing/svg/draw.ts'
import { rowsOf } from '../../lab/generations/drawing/terminal/rows.ts'
import type { Figure } from '../../lab/generations/figures.ts'
import { Decoder, encodeReply, encodeRequest, RedisError } from '../../lab/generations/wire/protocol.ts'

const plain = (_style: unknown, text: string): string => text

function historyOf(
  ...events: readonly (readonly [Event['kind'], string, number, Partial<Event>?])[]
): History {
  const history = new History(() => {})
  for (const [kind, actor, atMs, more] of events) history.add({ kind, actor, atMs, text: '', ...more })
  return history
}

describe('evidence', () => {
  const taken = [
    ['took', 'A', 0],
    ['took', 'B', 50],
  ] as const

  it('finds two that were inside at once, and not two that followed each other', () => {
    const together = historyOf(...taken, ['left', 'A', 80], ['left', 'B', 90])
    expect(overlapsOf(together, 100)).toEqual([{ actors: ['A', 'B'], fromMs: 50, toMs: 80 }])
    const apart = historyOf(...taken, ['left', 'A', 50], ['left', 'B', 90])
    expect(overlapsOf(apart, 100)).toEqual([])
  })

  it('does not count the time in which one was paused, dead or knew better', () => {
    const paused = historyOf(...taken, ['paused', 'A', 10], ['woken', 'A', 70], ['left', 'A', 80])
    expect(overlapsOf(paused, 100)).toEqual([{ actors: ['A', 'B'], fromMs: 70, toMs: 80 }])
    expect(overlapsOf(historyOf(...taken, ['killed', 'A', 40]), 100)).toEqual([])
    expect(
      overlapsOf(historyOf(...taken, ['lost', 'A', 70, { sinceMs: 45 }], ['left', 'A', 80]), 100),
    ).toEqual([])
  })

  it('knows a delete that took the key of another, and one that did not', () => {
    const deleted = { command: 'DEL lock', reply: '1' }
    expect(robbedBy(historyOf(...taken, ['released', 'A', 60, deleted]), 'A')).toBe('B')
    expect(robbedBy(historyOf(...taken, ['left', 'B', 55], ['released', 'A', 60, deleted]), 'A')).toBeNull()
    expect(robbedBy(historyOf(...taken, ['released', 'A', 60, { ...deleted, reply: '0' }]), 'A')).toBeNull()
  })
})

describe('the warehouse', () => {
  it('accepts writers without a token, and refuses an old token', () => {
    const trusting = new Warehouse(10)
    expect([trusting.write(9, null), trusting.write(9, null)]).toEqual([true, true])
    expect({ sold: trusting.sold, left: trusting.left }).toEqual({ sold: 2, left: 9 })
    const fenced = new Warehouse(10)
    fenced.read('1')
    fenced.read('2')
    expect([fenced.write(9, '1'), fenced.write(9, '2')]).toEqual([false, true])
    expect({ sold: fenced.sold, refused: fenced.refused }).toEqual({ sold: 1, refused: 1 })
  })
})

describe('drawings', () => {
  const history = historyOf(
    ['asked', 'A', 0],
    ['took', 'A', 0],
    ['asked', 'B', 100],
    ['took', 'B', 600],
    ['sold', 'A', 800],
    ['left', 'A', 800],
    ['refused', 'B', 1000],
    ['left', 'B', 1000],
  )
  const samples = [0, 200, 400, 590, 610, 990].map((atMs) => ({ atMs, value: '1' }))
  const timeline = timelineOf({
    title: 'A <title>',
    ttlMs: 600,
    startMs: 0,
    endMs: 1_000,
    history,
    keys: [{ name: 'key', samples }],
    footer: 'stock 10',
    exact: true,
  })

  it('are rows of letters on a terminal', () => {
    expect(rowsOf(timeline, plain, 95)).toEqual([
      '  A             ████████████████████████████████████████$·········',
      '  B             ·····░░░░░░░░░░░░░░░░░░░░░░░░░███████████████████⊘  late write refused',
      '  key           ━━━━━━━━━━━━━━A━━━━━━━━━━━━━━━━━━━━━━━━B━━━━━━━━━━',
      '  two at once   ······························▲▲▲▲▲▲▲▲▲▲▲·········  A and B',
      '                0 s                      0.5 s',
      '  stock 10',
    ])
  })

  const figures: readonly Figure[] = [
    timeline,
    {
      kind: 'plot',
      title: 'a & b',
      across: 'clients',
      up: 'per second',
      places: [1, 2],
      lines: [{ name: 'one', values: [0, 0] }],
    },
    {
      kind: 'bars',
      title: 'bars',
      limit: { value: 5, name: 'limit' },
      bars: [{ name: 'x', value: 0, tone: 'good', remark: '' }],
    },
    { kind: 'table', title: 'table', columns: ['one', 'two'], rows: [['a', 'b'.repeat(500)]] },
  ]

  it.each(figures)('as pictures are well-formed and always the same: $kind', (figure) => {
    const svg = svgOf(figure)
    expect(svg).toBe(svgOf(structuredClone(figure)))
    expect(svg).not.toMatch(/NaN|undefined|Infinity/)
    expect(svg.match(/<(?![/?!])[^>]*[^/]>/g)?.length).toBe(svg.match(/<\//g)?.length)
    expect(rowsOf(figure, plain, 80).join('')).not.toMatch(/NaN|undefined|Infinity/)
  })

  it('do not let a text become markup', () => {
    expect(svgOf(timeline)).toContain('A &lt;title&gt;')
  })
})

describe('the protocol', () => {
  it('is understood in pieces of any size', () => {
    const reply = ['OK', 12, null, new RedisError('ERR no'), ['späße', -1], ''] as const
    const bytes = Buffer.from(encodeReply(reply) + encodeRequest(['SET', 'k', 'v']))
    for (const size of [1, 3, 7, bytes.length]) {
      const decoder = new Decoder()
      const values = []
      for (let at = 0; at < bytes.length; at += size)
        values.push(...decoder.feed(bytes.subarray(at, at + size)))
      expect(values).toEqual([reply, ['SET', 'k', 'v']])
    }
  })
})
