import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { connect } from '../../src/index.ts'
import { goneLabel } from '../observe/doctor/wards.ts'
import { Bench, listener, stateOf, TERMINALS } from './support/command.ts'

const bench = new Bench()
const ESCAPE = '\x1b'

describe('doctor', () => {
  it('ends with 0 when all is well, and says what it did not look at', async () => {
    await using locks = await connect(bench.store, { label: 'web1:1' })
    await using _lease = await locks.acquire('order:42')
    const { code, stdout, stderr } = await bench.holdfast(['doctor', '--watch', '0ms'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^healthy: nothing found \(1 key in use, watched for \d\.\d s\)$/m)
    expect(stdout).toMatch(/^not seen: foreign locks: nobody but Holdfast writes to its file$/m)
    expect(stdout).toMatch(
      /^not seen: deadlocks among 1 holder and 0 waiters: their programs set neither `onDeadlock` nor `actor`$/m,
    )
  })

  it('says from when on a queue is stuck, and notes one that does not move for five seconds', async () => {
    expect((await bench.holdfast(['help', 'doctor'])).stdout).toMatch(
      /5s is a note, 20s a warning, 1m critical/,
    )
    await using slow = await connect(bench.store, { label: 'web1:1' })
    await using eager = await connect(bench.store, { label: 'web2:2' })
    await using _lease = await slow.acquire('order:42')
    const waiting = eager.acquire('order:42', { wait: '30s' }).catch(() => {})
    await sleep(5100)
    const { code, stdout } = await bench.holdfast(['doctor', '--watch', '100ms'])
    expect(stdout).toMatch(
      /^note {2}LINE_STUCK {2}order:42\n {2}seen {3}web2:2, first of 1, has waited for \d[\d.]* s and web1:1 holds it for/m,
    )
    expect(code).toBe(0)
    await eager.close()
    await waiting
  }, 20_000)

  it.runIf(process.platform === 'linux').each(['runner', 'command'])(
    'tells of a %s that is stopped while others wait',
    async (stopped) => {
      const running = bench.start(['run', 'job', '--ttl', '30s', '--', 'sh', '-c', 'echo $$; exec sleep 60'])
      const command = Number((await running.printed(/^\d+/))[0])
      bench.endAtLast(command)
      const pid = stopped === 'runner' ? running.pid : command
      await using other = await connect(bench.store, { label: 'web2:2' })
      const waiting = other.acquire('job', { wait: '30s' }).catch(() => {})
      while ((await other.read('job')).queue.length === 0) await new Promise(setImmediate)
      process.kill(pid, 'SIGSTOP')
      while (stateOf(pid) !== 'T') await new Promise(setImmediate)
      const { code, stdout } = await bench.holdfast(['doctor', '--watch', '0ms'])
      process.kill(pid, 'SIGCONT')
      expect(stdout).toMatch(/^critical {2}HOLDER_STOPPED {2}job$/m)
      expect(stdout).toMatch(new RegExp(`process ${pid} is stopped; 1 waiting$`, 'm'))
      expect(stdout).toMatch(new RegExp(`^  fix    kill -CONT ${pid} `, 'm'))
      expect(code).toBe(2)
      await other.close()
      await waiting
    },
  )

  it('suggests commands for the store of --store that can be pasted', async () => {
    await using locks = await connect(bench.store, { label: goneLabel() })
    await using _lease = await locks.acquire('order:42')
    const args = ['doctor', '--watch', '0ms', '--store', bench.store]
    const named = await bench.holdfast(args, { HOLDFAST_STORE: '' })
    const line = / {2}fix {4}(holdfast evict .*)$/m.exec(named.stdout)?.[1] ?? ''
    expect(line).toContain(`--store ${bench.store}`)
    const { findings } = JSON.parse(
      (await bench.holdfast([...args, '--json'], { HOLDFAST_STORE: '' })).stdout,
    )
    expect(findings[0].fix).toBe(line)
    const pasted = await bench.holdfast([...line.split(' ').slice(1), '--yes'], { HOLDFAST_STORE: '' })
    expect(pasted).toMatchObject({ code: 0, stdout: expect.stringContaining('order:42: evicted') })
  })

  it('ends with 1 for a warning and 2 for something critical, each with its evidence and the command', async () => {
    await using locks = await connect(bench.store, { label: goneLabel() })
    const lease = await locks.acquire('order:42')
    const warned = await bench.holdfast(['doctor', '--watch', '0ms'])
    expect(warned.code).toBe(1)
    expect(warned.stdout).toMatch(/^warning {2}HOLDER_GONE {2}order:42$/m)
    expect(warned.stdout).toMatch(/^ {2}seen {3}.*no process \d+ on this host.*nobody waits$/m)
    expect(warned.stdout).toMatch(/^ {2}means {2}The process that held the key/m)
    expect(warned.stdout).toMatch(
      new RegExp(`^  fix    holdfast evict order:42 --token ${lease.token}$`, 'm'),
    )
    await using other = await connect(bench.store, { label: 'web2:2' })
    const waiting = other.acquire('order:42', { wait: '20s' }).catch(() => {})
    while ((await locks.read('order:42')).queue.length === 0) await new Promise(setImmediate)
    const harmed = await bench.holdfast(['doctor', 'order:', '--watch', '0ms', '--json'])
    expect(harmed.code).toBe(2)
    expect(JSON.parse(harmed.stdout)).toMatchObject({
      severity: 'critical',
      keys: 1,
      findings: [{ code: 'HOLDER_GONE', severity: 'critical', key: 'order:42' }],
    })
    expect((await bench.holdfast(['doctor', 'other:', '--watch', '0ms'])).code).toBe(0)
    await other.close()
    await waiting
  })

  it.each([
    [['--usual', '2'], /--usual "2" is not a duration/],
    [['--foreign', '*'], /foreign must be a pattern/],
    [['--watch', '1h'], /watch must be from 0 to 600000 ms/],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await bench.holdfast(['doctor', ...args])
    expect(code).toBe(64)
    expect(stderr).toMatch(message)
  })
})

describe('reap', () => {
  it('shows what is dead, and removes it only with --yes', async () => {
    const locks = await connect(bench.store, { label: 'web1:1' })
    const claim = { key: 'dead', id: 'x', mode: { kind: 'exclusive' }, ttlMs: 20, queue: false } as const
    const { openSqlite } = await import('../../src/stores/sqlite/open.ts')
    const store = openSqlite({ path: bench.file('locks.db') })
    const nobody = {
      owner: null,
      actor: null,
      label: 'x',
      meta: null,
      lockDelayMs: 0,
      group: null,
      replaces: null,
    }
    await store.attempt([{ ...claim, ...nobody }])
    await store.close()
    while ((await locks.read('dead')).holders.length > 0) await new Promise(setImmediate)
    await locks.close()
    expect((await bench.holdfast(['reap'])).stdout).toBe('nothing is dead\n')
    const shown = await bench.holdfast(['reap', '--dead-for', '0ms'])
    expect(shown.code).toBe(0)
    expect(shown.stdout).toMatch(/^would go {2}dead {2}a lock whose holders and waiters are all dead +\d+/m)
    expect(shown.stdout).toContain('nothing was removed; holdfast reap … --yes removes 1 thing')
    const named = await bench.holdfast(['reap', '--dead-for', '0ms', '--store', bench.store])
    expect(named.stdout).toContain(`holdfast reap --store ${bench.store} … --yes removes 1 thing`)
    const removed = await bench.holdfast(['reap', '--dead-for', '0ms', '--yes', '--json'])
    expect(JSON.parse(removed.stdout)).toMatchObject([{ name: 'dead', outcome: 'removed' }])
    expect((await bench.holdfast(['reap', '--dead-for', '0ms'])).stdout).toBe('nothing is dead\n')
  })

  it('wants to know how old a foreign key must be', async () => {
    const { code, stderr } = await bench.holdfast(['reap', '--foreign', 'lock:*'])
    expect(code).toBe(64)
    expect(stderr).toMatch(/--foreign needs --older/)
  })
})

describe('evict --ask', () => {
  it('asks the holder, waits until it has released, and records it', async () => {
    await using locks = await connect(bench.store, { label: 'web1:1' })
    const lease = await locks.acquire('order:42')
    const stop = lease.on('revoked', () => void lease.release())
    const { code, stdout } = await bench.holdfast(['evict', 'order:42', '--ask', '--yes'])
    stop()
    expect(code).toBe(0)
    expect(stdout).toMatch(/^order:42: web1:1 let go after \d+ m?s$/m)
    const shown = await bench.holdfast(['show', 'order:42'])
    expect(shown.stdout).toMatch(
      new RegExp(`asked +web1:1 \\(token ${lease.token}, had it for \\d+ m?s\\)$`, 'm'),
    )
    const { evictions } = JSON.parse((await bench.holdfast(['show', 'order:42', '--json'])).stdout)
    expect(evictions).toMatchObject([
      { asked: true, holders: [{ label: 'web1:1', token: `${lease.token}` }] },
    ])
    expect(evictions[0].by).toMatch(/@.*:\d+$/)
  })

  it('ends with 75 when the holder keeps it', async () => {
    await using locks = await connect(bench.store, { label: 'web1:1' })
    await using lease = await locks.acquire('order:42')
    const { code, stdout } = await bench.holdfast(['evict', 'order:42', '--ask', '--wait', '300ms', '--yes'])
    expect(code).toBe(75)
    expect(stdout).toMatch(/^order:42: web1:1 was asked and still has it after/m)
    expect(lease.held).toBe(true)
  })

  it('ends a command under run as a signal would', async () => {
    const running = bench.start(['run', 'job', '--', ...listener('SIGTERM', 'process.exit(7)')])
    await running.printed(/started/)
    expect((await bench.holdfast(['evict', 'job', '--ask', '--yes'])).code).toBe(0)
    const end = await running.finished
    expect(end.code).toBe(7)
    expect(end.stderr).toMatch(/an operator asks for "job"; asking the command to end/)
  })

  it('--wait alone means nothing', async () => {
    expect((await bench.holdfast(['evict', 'job', '--wait', '1s', '--yes'])).code).toBe(64)
  })
})

describe('top', () => {
  const busy = async (work: (key: string) => Promise<void>) => {
    await using locks = await connect(bench.store, { label: 'web1:1' })
    await using other = await connect(bench.store, { label: 'web2:2' })
    await using _lease = await locks.acquire('order:42', { meta: { job: 'refund' } })
    await using _quiet = await locks.acquire('another')
    const waiting = other.acquire('order:42', { wait: '20s' }).catch(() => {})
    while ((await locks.read('order:42')).queue.length === 0) await new Promise(setImmediate)
    await work('order:42')
    await other.close()
    await waiting
  }

  it('prints one picture on a pipe, the longest line first, without escapes', () =>
    busy(async () => {
      const { code, stdout } = await bench.holdfast(['top'])
      expect(code).toBe(0)
      expect(stdout).not.toContain(ESCAPE)
      const [head, titles, first, second] = stdout.split('\n')
      expect(head).toMatch(/^\d\d:\d\d:\d\d {2}2 holders, 1 waiting$/)
      expect(titles).toMatch(/^KEY +HELD BY +MODE +FOR +LEFT +QUEUE +NEXT +WAITED$/)
      expect(first).toMatch(/^order:42 +web1:1 +exclusive +\d+ m?s +\d+ s +1 +web2:2 +\d+ m?s$/)
      expect(second).toMatch(/^another +web1:1/)
    }))

  it('prints a line of JSON per look with --every, until the reader has enough', () =>
    busy(async () => {
      const running = bench.start(['top', 'order:', '--json', '--every', '100ms'])
      await running.printed(/\n.*\n.*\n/)
      running.signal('SIGTERM')
      await running.finished
      const [first, second] = running.stdout
        .split('\n')
        .map((line) => (line === '' ? null : JSON.parse(line)))
      expect(first).toMatchObject({ held: 1, waiting: 1, grantsPerSecond: null, keys: [{ key: 'order:42' }] })
      expect(first.keys[0].holders[0].meta).toEqual({ job: 'refund' })
      expect(second).toMatchObject({ held: 1, grantsPerSecond: 0 })
    }))

  it('refuses to look too often', async () => {
    expect((await bench.holdfast(['top', '--every', '5ms'])).code).toBe(64)
  })

  it.runIf(TERMINALS).each([30, 50])('keeps within a terminal of %i columns', (columns) =>
    busy(async () => {
      const running = bench.startOnTerminal(columns, ['top', '--every', '100ms'], { NO_COLOR: '1' })
      await running.printed(/q ends[\s\S]*q ends/)
      running.type('q')
      await running.finished
      const [, screen = ''] = running.stdout.split('\x1b[H')
      const lines = screen.split('\x1b[K').map((line) => line.replace(/^[\r\n]+/, ''))
      expect(lines[1]).toMatch(/^KEY .*QUEUE/)
      expect(lines[2]).toMatch(/^order:42 .*1/)
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns)
    }),
  )

  // Without util-linux's `script` there is no terminal to test on.
  it.runIf(TERMINALS).each(['q', '\x03'])('draws in place on a terminal until %j, and gives it back', (key) =>
    busy(async () => {
      const running = bench.startOnTerminal(90, ['top', '--every', '100ms'])
      await running.printed(/order:42 .*web2:2[\s\S]*q ends[\s\S]*order:42 .*web2:2[\s\S]*q ends/)
      running.type(key)
      expect((await running.finished).code).toBe(0)
      const { stdout } = running
      expect(stdout.startsWith('\x1b[?1049h\x1b[?25l')).toBe(true)
      expect(stdout.endsWith('\x1b[?25h\x1b[?1049l')).toBe(true)
      expect(stdout.split('\x1b[H').length).toBeGreaterThan(2)
    }),
  )
})
