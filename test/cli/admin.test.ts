import { describe, expect, it } from 'vitest'
import { connect, type Lease, type Locks } from '../../src/index.ts'
import { Bench } from './support/command.ts'

const bench = new Bench()
const EVIL_KEY = 'order:\x1b[2J\u009b31m\u202e42'
const EVIL_LABEL = 'web\x07\x1b]0;owned\x07:1\r\nforged line'

/** Anything but printable characters and the line breaks that we print ourselves. */
const UNSAFE = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

async function held(
  key: string,
  label: string,
  work: (locks: Locks, lease: Lease) => Promise<void>,
): Promise<void> {
  await using locks = await connect(bench.store, { label })
  await using lease = await locks.acquire(key, { ttl: '30s' })
  await work(locks, lease)
}

describe('ls', () => {
  it('lists keys in use with holder, mode, ages and the number of waiters', async () => {
    await held('order:42', 'web1:4711', async (locks) => {
      await using other = await connect(bench.store, { label: 'web2:17' })
      await using _reader = await locks.rw('catalogue').read.acquire()
      await using _permit = await locks.semaphore('encode', { limit: 3 }).acquire({ weight: 2 })
      const waiting = other.acquire('order:42', { wait: '20s' }).catch((error: Error) => error)
      while ((await locks.read('order:42')).queue.length === 0) await new Promise(setImmediate)
      const { code, stdout } = await bench.holdfast(['ls'])
      expect(code).toBe(0)
      expect(stdout).toMatch(/^KEY +HELD BY +MODE +FOR +LEFT +WAITING$/m)
      expect(stdout).toMatch(/^order:42 +web1:4711 +exclusive +\d+ m?s +\d+ s +1$/m)
      expect(stdout).toMatch(/^catalogue +web1:4711 +shared +.* -$/m)
      expect(stdout).toMatch(/^encode +web1:4711 +2 of 3 +.* -$/m)
      await other.close()
      expect(await waiting).toMatchObject({ code: 'CLOSED' })
    })
  })

  it('keeps to a prefix', async () => {
    await held('order:42', 'web1:1', async (locks) => {
      await using _other = await locks.acquire('user:7')
      const { stdout } = await bench.holdfast(['ls', 'order:', '--json'])
      expect(JSON.parse(stdout).map((view: { key: string }) => view.key)).toEqual(['order:42'])
    })
  })

  it('prints one JSON array, with tokens as strings', async () => {
    await held('order:42', 'web1:1', async (_, lease) => {
      const views = JSON.parse((await bench.holdfast(['ls', '--json'])).stdout)
      expect(views).toHaveLength(1)
      expect(views[0]).toMatchObject({ key: 'order:42', token: String(lease.token), queue: [], limit: null })
      expect(views[0].holders).toMatchObject([
        { label: 'web1:1', mode: 'exclusive', token: String(lease.token) },
      ])
    })
  })

  it('says so when nothing is in use', async () => {
    expect(await bench.holdfast(['ls'])).toMatchObject({ code: 0, stdout: 'no key is in use\n' })
    expect(await bench.holdfast(['ls', '--json'])).toMatchObject({ code: 0, stdout: '[]\n' })
  })
})

it.each([
  ['ls', ['ls', '--json']],
  ['show', ['show', 'order:42', '--json']],
])('%s --json gives meta as the value that the program gave', async (_, args) => {
  await using locks = await connect(bench.store, { label: 'web1:1' })
  await using other = await connect(bench.store, { label: 'web2:2' })
  const meta = { job: 'refund', cents: [1, 2], by: EVIL_LABEL }
  await using _lease = await locks.acquire('order:42', { meta })
  const waiting = other.acquire('order:42', { wait: '20s', meta: 'a text' }).catch((error: Error) => error)
  while ((await locks.read('order:42')).queue.length === 0) await new Promise(setImmediate)
  const { stdout } = await bench.holdfast(args)
  expect(UNSAFE.exec(stdout)).toBeNull()
  const [view] = [JSON.parse(stdout)].flat()
  expect(view.holders[0].meta).toEqual(meta)
  expect(view.queue[0].meta).toBe('a text')
  await other.close()
  await waiting
})

describe('show', () => {
  it('shows holders, the queue in order, and the token', async () => {
    await held('order:42', 'web1:1', async (locks, lease) => {
      await using other = await connect(bench.store, { label: 'web2:2' })
      const waiting = other
        .acquire('order:42', { wait: '20s', meta: { job: 'refund' } })
        .catch((error: Error) => error)
      while ((await locks.read('order:42')).queue.length === 0) await new Promise(setImmediate)
      const { code, stdout } = await bench.holdfast(['show', 'order:42'])
      expect(code).toBe(0)
      expect(stdout).toMatch(/^order:42 {2}held, 1 waiting$/m)
      expect(stdout).toContain(`highest token ${lease.token}`)
      expect(stdout).toMatch(new RegExp(`^web1:1 +exclusive +\\d+ m?s +\\d+ s +${lease.token}$`, 'm'))
      expect(stdout).toMatch(/^1 +web2:2 +exclusive +\d+ m?s +\{"job":"refund"\}$/m)
      await other.close()
      await waiting
    })
  })

  it('shows a free key as free', async () => {
    expect((await bench.holdfast(['show', 'nobody'])).stdout).toBe('nobody  free\nno token is remembered\n')
    const view = JSON.parse((await bench.holdfast(['show', 'nobody', '--json'])).stdout)
    expect(view).toMatchObject({ key: 'nobody', holders: [], queue: [], token: null })
  })

  it('never shows the id that proves ownership', async () => {
    await held('order:42', 'web1:1', async (_, lease) => {
      for (const args of [
        ['show', 'order:42'],
        ['show', 'order:42', '--json'],
        ['ls', '--json'],
      ]) {
        expect((await bench.holdfast(args)).stdout).not.toContain(lease.id)
      }
    })
  })
})

describe('text that others chose', () => {
  it.each([
    ['ls', ['ls']],
    ['ls --json', ['ls', '--json']],
    ['show', ['show', EVIL_KEY]],
    ['show --json', ['show', EVIL_KEY, '--json']],
    ['run', ['run', EVIL_KEY, '--no-wait', '--', 'true']],
    ['run, waiting', ['run', EVIL_KEY, '--wait', '300ms', '--', 'true']],
    ['evict', ['evict', EVIL_KEY, '--yes']],
    ['an unknown command', [EVIL_KEY]],
    ['an unexpected argument', ['show', 'key', EVIL_KEY]],
  ])('cannot reach the terminal through %s', async (_, args) => {
    await held(EVIL_KEY, EVIL_LABEL, async () => {
      const { stdout, stderr } = await bench.holdfast(args)
      expect(stdout + stderr).not.toBe('')
      expect(UNSAFE.exec(stdout + stderr)).toBeNull()
      expect(stdout + stderr).not.toMatch(/^forged line/m)
    })
  })

  it('is exact in JSON', async () => {
    await held(EVIL_KEY, EVIL_LABEL, async () => {
      const view = JSON.parse((await bench.holdfast(['show', EVIL_KEY, '--json'])).stdout)
      expect(view).toMatchObject({ key: EVIL_KEY, holders: [{ label: EVIL_LABEL }] })
    })
  })
})

describe('evict', () => {
  it('evicts with --yes and names the holder', async () => {
    await held('order:42', 'web1:1', async (locks) => {
      const end = await bench.holdfast(['evict', 'order:42', '--yes'])
      expect(end).toMatchObject({ code: 0, stdout: 'order:42: evicted web1:1; the next token is higher\n' })
      expect((await locks.read('order:42')).holders).toEqual([])
    })
  })

  it('refuses without --yes when there is no terminal to ask on', async () => {
    await held('order:42', 'web1:1', async (locks) => {
      const end = await bench.holdfast(['evict', 'order:42'])
      expect(end).toMatchObject({ code: 64, stdout: '' })
      expect(end.stderr).toMatch(/--yes/)
      expect((await locks.read('order:42')).holders).toHaveLength(1)
    })
  })

  it('compares the token: another one than the holder’s evicts no holder', async () => {
    await held('order:42', 'web1:1', async (locks, lease) => {
      const wrong = await bench.holdfast(['evict', 'order:42', '--token', '7', '--yes'])
      expect(wrong.code).toBe(1)
      expect(wrong.stdout).toContain(`token 7 holds nothing, the current token is ${lease.token}`)
      expect((await locks.read('order:42')).holders).toHaveLength(1)
      const right = await bench.holdfast([
        'evict',
        'order:42',
        '--token',
        String(lease.token),
        '--yes',
        '--json',
      ])
      expect(right.code).toBe(0)
      expect(JSON.parse(right.stdout)).toEqual({ key: 'order:42', evicted: ['web1:1'] })
    })
  })

  it('ends with 1 when there is nothing to evict', async () => {
    const end = await bench.holdfast(['evict', 'order:42', '--yes'])
    expect(end).toMatchObject({ code: 1, stdout: 'order:42: nothing to evict: the key is free\n' })
    const json = await bench.holdfast(['evict', 'order:42', '--yes', '--json'])
    expect(JSON.parse(json.stdout)).toEqual({ key: 'order:42', evicted: [] })
  })

  it('evicts all holders of a shared key', async () => {
    await using locks = await connect(bench.store, { label: 'web1:1' })
    await using other = await connect(bench.store, { label: 'web2:2' })
    await using _one = await locks.rw('key').read.acquire()
    await using _two = await other.rw('key').read.acquire()
    const end = await bench.holdfast(['evict', 'key', '--yes', '--json'])
    expect(JSON.parse(end.stdout).evicted.toSorted()).toEqual(['web1:1', 'web2:2'])
    expect((await locks.read('key')).holders).toEqual([])
  })

  it('refuses a token that is none', async () => {
    expect((await bench.holdfast(['evict', 'key', '--token', 'abc', '--yes'])).code).toBe(64)
  })
})
