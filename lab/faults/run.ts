import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Locks } from 'holdfast'
import { examine, type Verdict } from './check/index.ts'
import { type Story, storyOf } from './check/story.ts'
import { clockMs } from './clock.ts'
import { Crew } from './crew.ts'
import { EXPECTATIONS, type StoreName } from './expectations.ts'
import { HistoryWriter, readHistory } from './history.ts'
import { sleep } from './lock-client.ts'
import { networkNemeses } from './nemeses/network.ts'
import { workerNemeses } from './nemeses/workers.ts'
import { type Pace, suffer } from './nemeses.ts'
import { RECOVERY_SLACK_MS, TTL_MS } from './settings.ts'
import { StallMeter } from './stall-meter.ts'
import { WORLDS } from './stores/index.ts'
import type { World } from './stores/world.ts'
import { Wires } from './wires.ts'
import { Witness } from './witness.ts'

export interface RunOptions {
  readonly store: StoreName
  readonly seed: number
  readonly minutes: number
  readonly pace: Pace
  /** Beginnings of the kinds of faults that may come. */
  readonly kinds: readonly string[]
  /** The worker as a program. */
  readonly program: string
  /** Where the history goes. */
  readonly folder: string
  readonly stop: AbortSignal
  readonly onProgress: (text: string) => void
}

export interface Run {
  readonly store: StoreName
  readonly seed: number
  readonly minutes: number
  readonly story: Story
  readonly verdict: Verdict
}

const BEGIN_MS = 30_000

/** Starts the servers and the processes, brings the faults, and judges what was written. */
export async function run(options: RunOptions): Promise<Run> {
  const { store, seed, folder, onProgress } = options
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  onProgress('starts its servers')
  const world = await WORLDS[store](seed)
  try {
    await withCrew(world, options)
  } finally {
    await world.stop()
  }
  onProgress('is judged')
  return judge(store, seed, folder)
}

/** The verdict of the checks on a history. */
export function judge(store: StoreName, seed: number, folder: string): Run {
  const story = storyOf(readHistory(folder))
  const minutes = (story.toMs - story.fromMs) / 60_000
  return { store, seed, minutes, story, verdict: examine(story, EXPECTATIONS[store]) }
}

async function withCrew(world: World, options: RunOptions): Promise<void> {
  const { store, seed, minutes, pace, kinds, program, folder, stop, onProgress } = options
  const history = new HistoryWriter(folder, 'runner')
  const witness = new Witness(new HistoryWriter(folder, 'witness'))
  // A path of a socket has to be short.
  const socket = join(tmpdir(), `holdfast-${process.pid}-${store}.sock`)
  await witness.listen(socket)
  const wires = await Wires.start(pace.workers, world.ports)
  const meter = new StallMeter(history)
  const wayOf = (place: number) => ({
    url: world.urlBy(wires.portsOf(place)),
    addresses: world.tells === true ? wires.addressesOf(place) : null,
  })
  const crew = new Crew({ program, folder, socket, seed, size: pace.workers, wayOf }, history)
  const operator = await connect(world.urlBy(world.ports), { label: 'operator' })
  try {
    await untilBegun(folder, pace.workers, stop)
    const nemeses = [...workerNemeses(crew), ...networkNemeses(wires, crew), ...world.nemeses].filter(
      ({ kind }) => kinds.some((beginning) => kind.startsWith(beginning)),
    )
    if (nemeses.length === 0) throw new Error(`no fault of ${store} begins with ${kinds.join(' or ')}`)
    let faults = 0
    const recoveryMs = TTL_MS + RECOVERY_SLACK_MS + EXPECTATIONS[store].failoverMs
    await suffer(nemeses, {
      ...{ seed, pace, history, stop },
      forMs: minutes * 60_000,
      recoveryMs,
      onFault: (kind) => onProgress(`fault ${++faults}: ${kind}`),
      onCalm: () => nameHolders(operator, history),
    })
    onProgress('calms down')
    // Long enough to tell a key that stays closed, also in a run whose calms are short.
    await sleep(recoveryMs + RECOVERY_SLACK_MS)
    await nameHolders(operator, history)
    await crew.end()
    const wrong = witness.audit('stock')
    if (wrong !== null) history.write({ f: 'left', what: wrong })
    await sweep(operator, EXPECTATIONS[store].failoverMs, history)
  } finally {
    meter.stop()
    await operator.close()
    crew.abandon()
    await wires.close()
    await witness.close()
  }
}

/** Until every worker has had a key: faults that come before that happen to nobody. */
async function untilBegun(folder: string, workers: number, stop: AbortSignal): Promise<void> {
  const giveUpAtMs = clockMs() + BEGIN_MS
  const hasBegun = (name: string): boolean =>
    /^w\d/.test(name) && readFileSync(join(folder, name), 'utf8').includes('"granted"')
  while (!stop.aborted && readdirSync(folder).filter(hasBegun).length < workers) {
    if (clockMs() > giveUpAtMs) throw new Error(`the workers did not begin within ${BEGIN_MS} ms`)
    await sleep(50)
  }
}

/** When everybody has gone nothing is left, at the latest when the last ttl is over. */
async function sweep(operator: Locks, failoverMs: number, history: HistoryWriter): Promise<void> {
  const giveUpAtMs = clockMs() + TTL_MS + RECOVERY_SLACK_MS + failoverMs
  for (;;) {
    const left: string[] = []
    for await (const { key, holders, queue } of operator.list())
      if (holders.length + queue.length > 0)
        left.push(`${key}: ${holders.length} holders and ${queue.length} in the line`)
    if (left.length === 0) return
    if (clockMs() > giveUpAtMs) {
      for (const what of left) history.write({ f: 'left', what })
      return
    }
    await sleep(100)
  }
}

/** Writes down all holders that the store knows of. */
async function nameHolders(operator: Locks, history: HistoryWriter): Promise<void> {
  for await (const { key, holders } of operator.list())
    for (const { label, token, heldMs } of holders)
      history.write({ f: 'holder', key, label, token: String(token), heldMs: heldMs ?? 0 })
}
