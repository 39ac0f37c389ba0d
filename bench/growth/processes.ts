import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Visit } from '../contest.ts'
import { nowNs } from '../now.ts'
import { quantile } from '../statistics.ts'
import { rateOf } from './crowd.ts'
import type { Figures, Part, Run } from './part.ts'

const WORK_MS = 1
const TURNS = 10
/** Their first attempts reach the store within it. */
const JOINING_MS = 1000

export interface Told {
  readonly visits: readonly Visit[]
  readonly errors: number
  readonly lost: number
}

export const PROCESSES: Part = {
  name: 'processes',
  title: `processes that take one key ${TURNS} times each, ${WORK_MS} ms of work`,
  unit: 'processes',
  plotted: 'per second',
  sizes: (store, extent) =>
    store === 'memory' ? [] : extent === 'full' ? [8, 64] : extent === 'quick' ? [8] : [2],
  startsSlowly: true,
  run: processes,
}

/** As many processes of this program as are wanted, which begin behind a holder. */
async function processes(run: Run): Promise<Figures> {
  const { order } = run
  const key = `${order.prefix}one`
  const { locks, close } = await run.open(1)
  const lease = await locks[0]!.acquire(key)
  const children = Array.from({ length: order.n }, () =>
    fork(process.argv[1] as string, [JSON.stringify({ ...order, visitor: key })], { execArgv: [] }),
  )
  const told: Told[] = []
  let startedAtNs = nowNs()
  const figures = (): Figures => figuresOf(told, order.n * TURNS, startedAtNs)
  try {
    await run.within(Promise.all(children.map((child) => heard(child))))
    for (const child of children) child.send('begin')
    await sleep(Math.min(JOINING_MS, run.leftMs()))
    startedAtNs = nowNs()
    // A process that is late tells what it has.
    const listening = children.map(async (child) => told.push(await heard<Told>(child)))
    await lease.release()
    if ((await run.within(Promise.all(listening))) === null) {
      for (const child of children) if (child.connected) child.send('end')
      await Promise.race([Promise.allSettled(listening), sleep(2000)])
    }
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
  const found = figures()
  run.tell(found)
  await run.within(close())
  return found
}

async function heard<T>(child: ChildProcess): Promise<T> {
  const ended = once(child, 'exit').then(() => {
    throw new Error('a process of the benchmark ended too soon')
  })
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [T]
  return message
}

function figuresOf(told: readonly Told[], wanted: number, startedAtNs: number): Figures {
  const visits = told.flatMap((each) => each.visits).toSorted((one, other) => one[1] - other[1])
  const waitsMs = visits.map(([askNs, enterNs]) => (enterNs - Math.max(askNs, startedAtNs)) / 1e6)
  const overlaps = visits.filter(([, enterNs], index) => enterNs < (visits[index - 1]?.[2] ?? 0)).length
  const endedAtNs = visits.length === wanted ? (visits.at(-1)?.[2] ?? startedAtNs) : nowNs()
  return {
    wanted,
    served: visits.length,
    'per second': rateOf(visits.length, (endedAtNs - startedAtNs) / 1e6),
    'wait p50 ms': quantile(waitsMs, 0.5),
    'wait p99 ms': quantile(waitsMs, 0.99),
    errors: told.reduce((sum, { errors }) => sum + errors, 0),
    lost: told.reduce((sum, { lost }) => sum + lost, 0),
    overlaps,
  }
}

/** One of these processes: it tells what it met with when it is done, or when it is told to end. */
export async function visit(run: Run, key: string): Promise<void> {
  const { locks, lost, close } = await run.open(1)
  process.send?.('ready')
  await once(process, 'message')
  const visits: Visit[] = []
  let errors = 0
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < TURNS; turn++) {
      const askNs = nowNs()
      try {
        await locks[0]!.using(key, async () => {
          const enterNs = nowNs()
          await sleep(WORK_MS)
          visits.push([askNs, enterNs, nowNs()])
        })
      } catch {
        errors++
      }
    }
  }
  await Promise.race([turns(), once(process, 'message')])
  process.send?.({ visits, errors, lost: lost() } satisfies Told)
  await run.within(close())
}
