import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { Bench } from './support/command.ts'

const bench = new Bench()

describe('help', () => {
  it.each([[['--help']], [['-h']], [['help']]])(
    '%j teaches by example and names every command',
    async (args) => {
      const { code, stdout, stderr } = await bench.holdfast(args)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toContain('holdfast run backup -- ./backup.sh')
      for (const name of ['run', 'ls', 'show', 'evict', 'demo'])
        expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
      expect(stdout).not.toContain('demo-worker')
    },
  )

  it.each(['run', 'ls', 'show', 'evict', 'demo'])(
    'of %s has examples, asked for in both ways',
    async (name) => {
      const one = await bench.holdfast(['help', name])
      const other = await bench.holdfast([name, '--help'])
      expect(one).toEqual(other)
      expect(one.code).toBe(0)
      expect(one.stdout).toMatch(new RegExp(`^  (\\w+=\\S+ )?holdfast ${name}`, 'm'))
      for (const line of one.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(120)
    },
  )

  it('after -- belongs to the command', async () => {
    const { stdout } = await bench.holdfast(['run', 'key', '--', 'sh', '-c', 'echo "$1"', 'sh', '--help'])
    expect(stdout).toBe('--help\n')
  })

  it('goes to stderr with exit code 64 when no command is given', async () => {
    const { code, stdout, stderr } = await bench.holdfast([])
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' })
    expect(stderr).toContain('Commands')
  })
})

it('help of run says when the command goes on without a lock', async () => {
  const { stdout } = await bench.holdfast(['help', 'run'])
  expect(stdout).toMatch(/killed by SIGKILL or stopped by SIGSTOP, the command goes on/)
  expect(stdout).toMatch(/--grace 10s/)
})

it.each(['--version', '-v', '-V', 'version'])('%s prints the version', async (word) => {
  expect(await bench.holdfast([word])).toMatchObject({ code: 0, stdout: `${packageJson.version}\n` })
})

describe('colours on a pipe', () => {
  const NONE = { NO_COLOR: '', FORCE_COLOR: '' }
  it.each([
    [{ FORCE_COLOR: '1' }, true],
    [{ FORCE_COLOR: 'true' }, true],
    [{ FORCE_COLOR: '3', NO_COLOR: '1', TERM: 'dumb' }, true],
    [{ FORCE_COLOR: '0' }, false],
    [{ FORCE_COLOR: 'false' }, false],
    [{ NO_COLOR: '1' }, false],
    [{}, false],
  ])('%j: %s', async (env, coloured) => {
    for (const args of [['ls'], ['top'], ['help']])
      expect((await bench.holdfast(args, { ...NONE, ...env })).stdout.includes('\x1b[')).toBe(coloured)
    const json = await bench.holdfast(['ls', '--json'], { ...NONE, ...env })
    expect(json.stdout).toBe('[]\n')
  })
})

describe('migrate --print', () => {
  it.each([
    ['postgres://', 'CREATE TABLE IF NOT EXISTS "shop_keys"'],
    ['mysql://', 'CREATE TABLE IF NOT EXISTS `shop_keys`'],
  ])('%s: the statements, and no connection', async (url, statement) => {
    const args = ['migrate', '--print', '--store', url, '--table', 'shop']
    const { code, stdout, stderr } = await bench.holdfast(args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(statement)
    expect(JSON.parse((await bench.holdfast([...args, '--json'])).stdout)).toEqual({
      statements: stdout.trimEnd(),
    })
  })
})

describe('bad usage ends with 64', () => {
  it.each([
    [['rnu'], /no command "rnu"; did you mean run\?/],
    [['frobnicate'], /no command "frobnicate"; there are run, ls, show, evict, /],
    [['help', 'shwo'], /did you mean show\?/],
    [['--store', 'memory:', 'ls'], /no option --store before a command/],
    [['show'], /KEY is missing/],
    [['show', 'a', 'b'], /unexpected argument "b"/],
    [['ls', '--jsn'], /no option --jsn; did you mean --json\?/],
    [['ls', '--store'], /--store/],
    [['ls', '--store', 'nonsense'], /url/],
    [['demo', 'x'], /unexpected argument/],
    [['migrate', '--store', 'memory:'], /other stores need no tables/],
    [['migrate', '--store', 'postgres://localhost/shop?advisory=true'], /need no tables/],
  ])('%j', async (args, message) => {
    const { code, stdout, stderr } = await bench.holdfast(args)
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' })
    expect(stderr).toMatch(message)
  })
})

describe('secrets', () => {
  const CANARY = 'c4nary-p4ssword'
  const url = `gopher://user:${CANARY}@nowhere:1/?password=${CANARY}`

  it.each([['ls'], ['show', 'key'], ['evict', 'key', '--yes'], ['run', 'key', '--', 'env']])(
    '%s … never prints the password of the store',
    async (...args) => {
      for (const end of [
        await bench.holdfast(args, { HOLDFAST_STORE: url }),
        await bench.holdfast([args[0]!, '--store', url, ...args.slice(1)]),
        await bench.holdfast([args[0]!, `--store=${url}`, ...args.slice(1)]),
      ]) {
        expect(end.code).toBe(64)
        expect(end.stdout + end.stderr).not.toContain(CANARY)
      }
    },
  )
})

it('a server that cannot be reached ends with 69, and its password is not repeated', async () => {
  const url = 'redis://user:c4nary-p4ssword@127.0.0.1:1'
  const end = await bench.holdfast(['run', 'key', '--store', url, '--', 'touch', bench.file('ran')])
  expect(end).toMatchObject({ code: 69, stdout: '' })
  expect(end.stderr).toContain('127.0.0.1:1')
  expect(end.stderr).not.toContain('c4nary')
  expect(existsSync(bench.file('ran'))).toBe(false)
})

it.each([['ls'], ['show', 'key'], ['evict', 'key', '--yes']])(
  '%s … ends with 69 when the store cannot be reached',
  async (...args) => {
    const end = await bench.holdfast(args, { HOLDFAST_STORE: `sqlite:${bench.file('nowhere/locks.db')}` })
    expect(end).toMatchObject({ code: 69, stdout: '' })
    expect(end.stderr).toMatch(/^holdfast: .*nowhere/)
  },
)
