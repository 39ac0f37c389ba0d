import { expect, it, onTestFinished } from 'vitest'
import { drawing } from '../../src/cli/deadlocks.ts'
import { connect, type Locks } from '../../src/index.ts'
import { Bench } from './support/command.ts'

const bench = new Bench()
const EVIL = 'order:\x1b[2J\u202e1'

/** Two programs that wait for each other until they are closed. */
async function crosswise(first: string, second: string): Promise<void> {
  const open = (label: string) => connect(bench.store, { label, onDeadlock: 'report', wait: Infinity })
  const [web, worker] = [await open('web1:4711'), await open('worker:17')]
  onTestFinished(async () => {
    await web.close()
    await worker.close()
  })
  const told = new Promise<void>((resolve) => void web.on('deadlock', () => resolve()))
  let missing = 2
  let meet: () => void = () => {}
  const met = new Promise<void>((resolve) => {
    meet = resolve
  })
  const cross = (locks: Locks, one: string, two: string): Promise<void> =>
    locks.using(one, async () => {
      if (--missing === 0) meet()
      await met
      await locks.using(two, () => {})
    })
  cross(web, first, second).catch(() => {})
  cross(worker, second, first).catch(() => {})
  await told
}

it('draws the circle, says how to end it, and exits 1', async () => {
  await crosswise('order:1', EVIL)
  const { code, stdout, stderr } = await bench.holdfast(['deadlocks'])
  expect([code, stderr]).toEqual([1, ''])
  const lines = stdout.split('\n')
  expect(lines[0]).toBe('deadlock: 2 actors in a circle')
  expect(stdout).toMatch(/web1:4711 \(#1\) {2}holds order:1 for \d+ s$/m)
  expect(stdout).toMatch(/worker:17 \(#1\) {2}holds order:\\x1b\[2J\\u\{202e\}1 for \d+ s$/m)
  expect(stdout).toMatch(/^one has to let go: holdfast evict /m)

  const named = await bench.holdfast(['deadlocks', '--store', bench.store])
  expect(named.stdout).toContain(`one has to let go: holdfast evict --store ${bench.store} `)

  const json = await bench.holdfast(['deadlocks', '--json'])
  expect([json.code, json.stderr]).toEqual([1, ''])
  const [cycle] = JSON.parse(json.stdout) as { label: string; waitsFor: string; holds: string[] }[][]
  expect(cycle?.map(({ label, waitsFor, holds }) => [label, holds, waitsFor]).sort()).toEqual([
    ['web1:4711', ['order:1'], EVIL],
    ['worker:17', [EVIL], 'order:1'],
  ])
})

it('watches until Ctrl-C, and prints only what has changed', async () => {
  const watching = bench.start(['deadlocks', '--watch'])
  await watching.printed(/^none seen: nobody is known to wait in a circle/)
  await crosswise('a', 'b')
  await watching.printed(/^deadlock: 2 actors in a circle/m)
  watching.signal('SIGINT')
  const { code, stdout } = await watching.finished
  expect(code).toBe(1)
  expect(stdout.match(/^(none seen|deadlock)/gm)).toEqual(['none seen', 'deadlock'])
})

it('exits 0 when none is seen', async () => {
  const { code, stdout } = await bench.holdfast(['deadlocks'])
  expect([code, stdout]).toEqual([0, 'none seen: nobody is known to wait in a circle\n'])
})

it('says how many it could not judge, because their programs tell nothing', async () => {
  const [web, worker] = [
    await connect(bench.store, { label: 'web1:4711' }),
    await connect(bench.store, { label: 'worker:17' }),
  ]
  await web.acquire('a')
  await worker.acquire('b')
  const waits = [web.acquire('b', { wait: '30s' }), worker.acquire('a', { wait: '30s' })]
  for (const wait of waits) wait.catch(() => {})
  while ((await web.read('a')).queue.length + (await web.read('b')).queue.length < 2)
    await new Promise(setImmediate)
  const blind =
    'not judged: 2 holders and 2 waiters (programs without onDeadlock and without named actors); see holdfast doctor'
  const { code, stdout } = await bench.holdfast(['deadlocks'])
  expect([code, stdout]).toEqual([0, `none seen: nobody is known to wait in a circle\n${blind}\n`])
  const json = await bench.holdfast(['deadlocks', '--json', '--store', bench.store])
  expect(json).toMatchObject({
    code: 0,
    stdout: '[]\n',
    stderr: `holdfast: ${blind} --store ${bench.store}\n`,
  })
  await Promise.all([web.close(), worker.close()])
})

it('shows actors that are only in the queue, and actors that wait for themselves', () => {
  const reader = { actor: '#2', label: 'p', waitsFor: 'k', waitedMs: 3000, holds: ['k'], heldMs: 4000 }
  const writer = { actor: null, label: 'q', waitsFor: 'k', waitedMs: 3500, holds: [], heldMs: null }
  expect(drawing([reader, writer])).toEqual([
    '  +-> p (#2)  holds k for 4 s',
    '  |     | waits for k for 3 s',
    '  |     v',
    '  |   q       is before it in the queue',
    '  |     | waits for k for 3 s',
    '  +-----+',
  ])
  expect(drawing([reader])).toEqual([
    '  +-> p (#2)  holds k for 4 s',
    '  |     | waits for k for 3 s',
    '  +-----+',
  ])
})
