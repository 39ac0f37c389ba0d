import { Random } from '../simulation/random.ts'
import type { HistoryWriter } from './history.ts'

/** A fault that is under way. */
export interface Strike {
  /** The target: a worker's number, a server, or everybody. */
  readonly target: string
  heal(): Promise<void> | void
}

/** Somebody who brings one kind of fault. */
export interface Nemesis {
  readonly kind: string
  /** For how long, from and to. */
  readonly lastsMs: readonly [number, number]
  strike(random: Random, lastsMs: number): Promise<Strike> | Strike
}

/** One fault of a plan: after a time of calm, that kind, for so long. */
export interface PlannedFault {
  readonly nemesis: Nemesis
  readonly calmMs: number
  readonly lastsMs: number
  /** Another that begins with it. */
  readonly beside: Nemesis | null
}

export interface Pace {
  /** How many processes want the keys. */
  readonly workers: number
  readonly calmMs: readonly [number, number]
  /** Each time after so many faults, the calm is long enough to tell a slow recovery from none; 0 for never. */
  readonly longCalmEvery: number
  /** In how many of a thousand cases two faults come together. */
  readonly pairsPerMille: number
  /** How much of its usual time a fault lasts. */
  readonly lastingPart: number
}

export const LONG: Pace = {
  workers: 4,
  calmMs: [1500, 4500],
  longCalmEvery: 4,
  pairsPerMille: 200,
  lastingPart: 1,
}
export const SHORT: Pace = {
  workers: 3,
  calmMs: [100, 300],
  longCalmEvery: 0,
  pairsPerMille: 0,
  lastingPart: 0.6,
}

/** The faults of a seed, without end. Each kind comes once in every round, in an order of chance. */
export function* planOf(
  seed: number,
  nemeses: readonly Nemesis[],
  pace: Pace,
  longCalmMs: number,
): Generator<PlannedFault> {
  const random = new Random(seed, 'plan')
  let planned = 0
  for (;;) {
    const round = [...nemeses]
    while (round.length > 0) {
      const [nemesis] = round.splice(random.whole(0, round.length - 1), 1) as [Nemesis]
      const others = nemeses.filter(({ kind }) => areaOf(kind) !== areaOf(nemesis.kind))
      yield {
        nemesis,
        calmMs: random.whole(...pace.calmMs) + (++planned % pace.longCalmEvery === 0 ? longCalmMs : 0),
        lastsMs: Math.round(random.whole(...nemesis.lastsMs) * pace.lastingPart),
        beside: random.chance(pace.pairsPerMille) && others.length > 0 ? random.pick(others) : null,
      }
    }
  }
}

/**
 * Two faults of one area would get into each other's way: who heals the one ends the other, and who asks something of a server that
 * stands still waits until it is healed, which is after that.
 */
function areaOf(kind: string): string {
  return /^(worker|network) /.exec(kind)?.[1] ?? 'server'
}

export interface SufferOptions {
  readonly seed: number
  readonly pace: Pace
  readonly forMs: number
  /** Beyond this, a key that is wanted and granted to nobody counts as not recovered. */
  readonly recoveryMs: number
  readonly history: HistoryWriter
  readonly stop: AbortSignal
  readonly onFault: (kind: string) => void
  /** A long calm is over. */
  readonly onCalm: () => Promise<void>
}

/** Brings one fault after the other until the time is over, and leaves none behind. */
export async function suffer(nemeses: readonly Nemesis[], options: SufferOptions): Promise<void> {
  const { seed, pace, forMs, recoveryMs, history, stop, onFault, onCalm } = options
  const random = new Random(seed, 'targets')
  const endAtMs = performance.now() + forMs
  let faults = 0
  const strike = async (nemesis: Nemesis, lastsMs: number): Promise<() => Promise<void>> => {
    const id = ++faults
    onFault(nemesis.kind)
    // The target is known when it is struck, the beginning must be told before.
    const fromMs = Number(process.hrtime.bigint()) / 1e6
    const { target, heal } = await nemesis.strike(random, lastsMs)
    history.write({ f: 'fault', id, kind: nemesis.kind, target }, fromMs)
    return async () => {
      await heal()
      history.write({ f: 'healed', id })
    }
  }
  for (const { nemesis, calmMs, lastsMs, beside } of planOf(seed, nemeses, pace, recoveryMs)) {
    await pause(Math.min(calmMs, endAtMs - performance.now()), stop)
    if (stop.aborted || performance.now() >= endAtMs) return
    if (calmMs > recoveryMs) await onCalm()
    const heals = [await strike(nemesis, lastsMs)]
    if (beside !== null) heals.push(await strike(beside, lastsMs))
    await pause(lastsMs, stop)
    for (const heal of heals.reverse()) await heal()
  }
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (stop.aborted || ms <= 0) return resolve()
    const end = (): void => {
      clearTimeout(timer)
      stop.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    stop.addEventListener('abort', end)
  })
}
