import { readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { expect, it } from 'vitest'
import { ModelServer } from '../../lab/generations/model/server.ts'
import { WireConnection } from '../../lab/generations/wire/connection.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import { Bench, type Finished } from './support/command.ts'

const bench = new Bench()
const PATIENCE_MS = 90_000

interface Shown {
  readonly name: string
  readonly claims: readonly { readonly text: string; readonly shown: boolean }[]
}

/** Names of the scenarios that showed all that they claim, and what was not shown. */
function verdictOf({ stdout }: Finished): { names: string[]; missing: string[]; where: string } {
  const { where, scenarios } = JSON.parse(stdout) as { where: string; scenarios: Shown[] }
  const missing = scenarios.flatMap(({ name, claims }) =>
    claims.filter(({ shown }) => !shown).map(({ text }) => `${name}: ${text}`),
  )
  return { names: scenarios.map(({ name }) => name), missing, where }
}

function leftovers(): string[] {
  return readdirSync(bench.folder).filter((name) => name.startsWith('holdfast-lab-'))
}

const REAL = [
  ...['v1-crash', 'v2-slow', 'v4-pause', 'v4-failover', 'fenced-pause', 'fenced-failover'],
  ...['reentry', 'oversold', 'transactions', 'set-options', 'persistence'],
]
const MODEL = ['v3-look-then-delete', 'v4-failover', 'fenced-failover', 'contention', 'persistence']

it('shows on real servers, and on a model where there are none, what it claims', {
  timeout: PATIENCE_MS,
}, async () => {
  // Nothing but Node is found on this path, so there is no redis-server to start.
  symlinkSync(process.execPath, bench.file('node'))
  const [real, model] = await Promise.all([
    bench.holdfast(['lab', ...REAL, '--json', '--svg', bench.file('pictures')], {
      TMPDIR: bench.folder,
    }),
    bench.holdfast(['lab', ...MODEL, '--json'], {
      TMPDIR: bench.folder,
      PATH: bench.folder,
    }),
  ])
  expect(verdictOf(real)).toEqual({
    names: REAL,
    missing: [],
    where: expect.stringContaining('a Redis server of its own'),
  })
  expect(verdictOf(model)).toEqual({
    names: MODEL,
    missing: [],
    where: expect.stringContaining('a small model of one'),
  })
  for (const { code, stderr } of [real, model]) expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(leftovers()).toEqual([])

  const pictures = readdirSync(bench.file('pictures'))
  expect(pictures).toContain('v4-pause.svg')
  const page = readFileSync(bench.file('pictures/index.html'), 'utf8')
  expect(page.match(/<svg /g)).toHaveLength(pictures.length - 1)
  expect(page).not.toMatch(/NaN|undefined|https?:\/\/(?!www\.w3\.org)/)
})

it('draws on a pipe in plain letters, on a server that was named, and leaves no key in it', {
  timeout: PATIENCE_MS,
}, async () => {
  const server = await startRedis()
  const connection = await WireConnection.open(server.url)
  try {
    const { code, stdout, stderr } = await bench.holdfast([
      'lab',
      'v3-slow',
      'fenced-slow',
      '--store',
      server.url,
    ])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).not.toContain('\x1b')
    expect(stdout).toMatch(/^ {2}A +░*█+\$█?·+$/m)
    expect(stdout).toMatch(/^ {2}B +·*░+█+\$·+$/m)
    expect(stdout).toMatch(/^ {2}key +·*━+A━+·*━+B━+·*━+C━*·*$/m)
    expect(stdout).toMatch(/^ {2}two at once +·+▲+·+ {2}A and B$/m)
    expect(stdout).toContain('stock 10, sold 3, left 8, should be 7')
    expect(stdout).toContain('stock 10, sold 3, left 7, exact')
    expect(stdout).toMatch(/^✔ 2 scenarios, each showed what it claims\.$/m)
    expect(await connection.call('DBSIZE')).toBe(0)
  } finally {
    connection.close()
    await server.stop()
  }
})

it('fails when a scenario does not show what it claims', { timeout: PATIENCE_MS }, async () => {
  const server = await ModelServer.start()
  // A server that gives every key an end, as no real one does: the first generation cannot hang on it.
  server.keys.lifeOf = () => 5
  try {
    const { code, stdout } = await bench.holdfast(['lab', 'v1-crash', '--store', server.url])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^ {2}✘ the key has no expiry/m)
    expect(stdout).toMatch(/^✘ not shown: v1-crash$/m)
  } finally {
    await server.stop()
  }
})

it('names its scenarios, and knows what was meant by one that is not there', async () => {
  const listed = await bench.holdfast(['lab', '--list'])
  expect(listed.code).toBe(0)
  expect(listed.stdout).toMatch(/^v1-crash +V1 {2}SETNX without an expiry: the holder crashes$/m)
  const mistaken = await bench.holdfast(['lab', 'v1-crahs'])
  expect(mistaken).toMatchObject({ code: 64, stderr: expect.stringContaining('did you mean v1-crash?') })
  const strange = await bench.holdfast(['lab', '--store', 'sqlite:./x.db'])
  expect(strange).toMatchObject({ code: 64, stderr: expect.stringContaining('redis://') })
  const nowhere = await bench.holdfast(['lab', '--svg', '/dev/null/pictures'])
  expect(nowhere).toMatchObject({ code: 64, stderr: expect.stringContaining('--svg /dev/null/pictures') })
  const away = await bench.holdfast(['lab', '--store', 'redis://:secret@127.0.0.1:1'], {
    TMPDIR: bench.folder,
  })
  expect(away.code).toBe(69)
  expect(away.stderr).not.toContain('secret')
  expect(leftovers()).toEqual([])
})

it('ends by a signal, with its processes, its server and its files', { timeout: PATIENCE_MS }, async () => {
  const running = bench.start(['lab', 'v1-crash', 'v1-two-steps'], { TMPDIR: bench.folder })
  const [, port] = await running.printed(/on port (\d+)/)
  await running.printed(/A is killed/)
  running.signal('SIGINT')
  expect((await running.finished).code).toBe(130)
  expect(leftovers()).toEqual([])
  await expect(WireConnection.open(`redis://127.0.0.1:${port}`)).rejects.toThrow('cannot be reached')
})
