import { setTimeout as sleep } from 'node:timers/promises'
import { LockError, type Locks } from 'holdfast'
import type { Call, Stage } from './calls/call.ts'
import { RECOVERY } from './calls/recovery.ts'
import { GRACE_MS, LATE_MS, LEAST_MS, QUIET_MS, TAG, WARM_UP_MS } from './settings.ts'
import type { Fault, World } from './world.ts'

type Verdict = 'ok' | 'late' | 'no end' | 'raw error'

/** The result of one call under one fault. */
export interface Cell {
  readonly call: string
  /** How it ended, or the code of its error. */
  readonly outcome: string
  readonly ms: number
  readonly verdict: Verdict
}

export interface Row {
  readonly fault: string
  readonly cells: readonly Cell[]
}

export interface RunOptions {
  readonly calls: readonly Call[]
  readonly graceMs?: number
  /** How far beyond its bound a call is late. */
  readonly lateMs?: number
  readonly onProgress?: (text: string) => void
}

/** Every fault of a world, one after the other. */
export async function run(world: World, options: RunOptions): Promise<Row[]> {
  const rows: Row[] = []
  const calls = options.calls.filter(({ byUrl }) => byUrl !== true || world.url !== null)
  const processes = calls.filter(({ apart }) => apart === true)
  const others = calls.filter(({ apart }) => apart !== true)
  const groups =
    world.alone === true
      ? [...calls.map((call) => [call]), [RECOVERY]]
      : [[...others, RECOVERY], processes].filter((group) => group.length > 0)
  for (const fault of world.faults) {
    const cells: Cell[] = []
    for (const group of groups) {
      options.onProgress?.(`${fault.name}: ${group.length === 1 ? group[0]?.name : `${group.length} calls`}`)
      const play = () => playCase(world, fault, group, options)
      cells.push(...(await (group === processes ? inTurn(play) : play())))
    }
    rows.push({ fault: fault.name, cells })
  }
  return rows
}

let turn: Promise<unknown> = Promise.resolve()

/** Processes of several stores that start at the same time would make each other late. */
function inTurn<T>(play: () => Promise<T>): Promise<T> {
  const mine = turn.then(play)
  turn = mine.catch(() => {})
  return mine
}

/** One fault, and calls that are made while it lasts, each with objects of its own. */
async function playCase(
  world: World,
  fault: Fault,
  calls: readonly Call[],
  { graceMs = GRACE_MS, lateMs = LATE_MS }: RunOptions,
): Promise<Cell[]> {
  const over = new AbortController()
  const stages = await Promise.all(calls.map((call) => stageOf(world, call, over.signal)))
  // Only now: a lease that others are waited for under would grow old.
  const prepared = await Promise.all(
    calls.map(async (call, place) => ({ call, play: await call.prepare(stages[place] as Stage) })),
  )
  const actors = prepared.filter((actor): actor is Actor => actor.play !== null)
  const play = ({ call, play }: Actor): Promise<Cell> => measure(call, play, graceMs, lateMs)
  const during = actors.filter(({ call }) => call !== RECOVERY)
  const recovering = actors.filter(({ call }) => call === RECOVERY)
  let healed = false
  const heal = async (): Promise<void> => {
    if (!healed) await fault.heal()
    healed = true
  }
  try {
    await sleep(QUIET_MS)
    await fault.start()
    const early = fault.stays === true ? recovering.map(play) : []
    const playing = Promise.all(during.map(play))
    await (fault.lastsMs === undefined ? Promise.all([playing, sleep(LEAST_MS)]) : sleep(fault.lastsMs))
    if (fault.stays !== true) await heal()
    const late = fault.stays === true ? [] : recovering.map(play)
    return [...(await playing), ...(await Promise.all([...early, ...late]))]
  } finally {
    over.abort()
    await heal()
    await Promise.all(stages.flatMap(({ locks, other }) => [locks, other]).map(closed))
    await world.settle?.()
  }
}

interface Actor {
  readonly call: Call
  readonly play: () => Promise<string>
}

async function stageOf(world: World, { name, pair }: Call, over: AbortSignal): Promise<Stage> {
  const key = `${TAG}:${name}:${Math.random().toString(36).slice(2)}`
  const open = async (): Promise<Locks> => {
    const locks = await world.open()
    // Every object has talked to the servers before they fail.
    await locks.using(`${key}:first`, { wait: WARM_UP_MS }, () => {})
    return locks
  }
  const locks = await open()
  const begin = world.begin?.bind(world, world.url as string, over) ?? null
  return { url: world.url, key, locks, other: pair === true ? await open() : locks, begin, over }
}

/** Plays a call and waits for its end, but not for ever. */
export async function measure(
  call: Call,
  play: () => Promise<string>,
  graceMs: number,
  lateMs: number,
): Promise<Cell> {
  const beganMs = performance.now()
  const limitMs = call.boundMs + graceMs
  const timer = new AbortController()
  const end = await Promise.race([
    settled(play),
    sleep(limitMs, null, { signal: timer.signal }).catch(() => null),
  ])
  timer.abort()
  const ms = Math.round(performance.now() - beganMs)
  if (end === null) return { call: call.name, outcome: 'no end', ms, verdict: 'no end' }
  const late = ms > call.boundMs + lateMs ? 'late' : 'ok'
  return { call: call.name, outcome: end.outcome, ms, verdict: end.raw ? 'raw error' : late }
}

interface End {
  readonly outcome: string
  /** An error that is none of ours, so that callers cannot tell what it means. */
  readonly raw: boolean
}

async function settled(play: () => Promise<string>): Promise<End> {
  try {
    return { outcome: await play(), raw: false }
  } catch (error) {
    if (error instanceof LockError) return { outcome: error.code, raw: false }
    return { outcome: error instanceof Error ? `${error.name}: ${error.message}` : String(error), raw: true }
  }
}

/** A call that hangs is left behind. */
async function closed(locks: Locks): Promise<void> {
  await Promise.race([locks.close().catch(() => {}), sleep(GRACE_MS, undefined, { ref: false })])
}
