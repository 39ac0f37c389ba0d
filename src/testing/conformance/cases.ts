import assert from 'node:assert/strict'
import { checkFunction, checkOptions, checkRuntime, type NamesOf } from '../../core/check.ts'
import { nodeRuntime } from '../../core/runtime.ts'
import type { Traits } from '../../core/store.ts'
import type { Check } from './check.ts'
import { SafetyError, Scene } from './scene.ts'
import { StallMeter } from './stall.ts'
import {
  type CaseContext,
  type ConformanceCase,
  type ConformanceTarget,
  type Skip,
  TOPICS,
  type Topic,
} from './target.ts'
import { CHECKS } from './topics/index.ts'

const TARGET: NamesOf<ConformanceTarget> = {
  name: true,
  open: true,
  skips: true,
  faults: true,
  slackMs: true,
  runtime: true,
}
/** A case that takes this long hangs. */
const LONGEST_CASE_MS = 25_000
/** A stall of this length uses up an offer's life, or the reserve of a short lease. */
const STALL_MS = 300
/** After a stall of this length, a client may give up its own connection. */
const LONG_STALL_MS = 700
/** A case whose failure proved nothing runs again, unless it took too long for that. */
const MOST_PLAYS = 3
const LONGEST_REPLAY_MS = 10_000

/** Every case of the suite for one store. They use keys of their own and may run side by side. */
export function conformanceCases(target: ConformanceTarget): ConformanceCase[] {
  const { skips = [], runtime } = checkOptions('target', target, TARGET)
  checkFunction('target.open', target.open)
  for (const skip of skips) requireSound(skip)
  const meter = new StallMeter(checkRuntime(runtime))
  let traits: Promise<Traits> | undefined
  return TOPICS.flatMap((topic) =>
    CHECKS[topic].map((check): ConformanceCase => {
      const skip = skips.find((skip) => skip.topic === topic && (skip.case ?? check.name) === check.name)
      const run = async (context?: CaseContext): Promise<void> => {
        if (skip !== undefined) {
          context?.skip(skip.reason)
          return
        }
        traits ??= readTraits(target)
        const unfit = reasonNotTo(check, await traits, target)
        const reason = unfit ?? (await playUntilProven(check, target, await traits, meter))
        if (reason !== null) context?.skip(reason)
      }
      return { topic, name: check.name, run }
    }),
  )
}

/** A skip without a reason hides a failure; a skip without a matching case is obsolete. */
function requireSound({ topic, case: name, reason }: Skip): void {
  const named = name === undefined ? topic : `${topic}: ${name}`
  if (!(topic in CHECKS) || (name !== undefined && !namesOf(topic).includes(name))) {
    throw new Error(`the skip of "${named}" names no case of the suite`)
  }
  if (typeof reason !== 'string' || reason.trim() === '')
    throw new Error(`the skip of "${named}" carries no reason`)
}

function namesOf(topic: Topic): string[] {
  return CHECKS[topic].map((check) => check.name)
}

async function readTraits(target: ConformanceTarget): Promise<Traits> {
  const probe = await target.open()
  await probe.close()
  return probe.traits
}

function reasonNotTo(check: Check, traits: Traits, target: ConformanceTarget): string | null {
  for (const need of check.needs) {
    const reason = need(traits, target.faults ?? {})
    if (reason !== null) return reason
  }
  return null
}

/** The shortest stall that makes a failure inconclusive. */
function excuseMs({ timed }: Scene, failure: unknown): number {
  if (failure instanceof SafetyError) return Number.POSITIVE_INFINITY
  if (timed) return STALL_MS
  return failure instanceof assert.AssertionError ? Number.POSITIVE_INFINITY : LONG_STALL_MS
}

async function playUntilProven(
  check: Check,
  target: ConformanceTarget,
  traits: Traits,
  meter: StallMeter,
): Promise<string | null> {
  const runtime = target.runtime ?? nodeRuntime
  const begunMs = runtime.nowMs()
  for (let plays = 1; ; plays++) {
    const reason = await play(check, target, traits, meter)
    if (reason === null || plays === MOST_PLAYS || runtime.nowMs() - begunMs > LONGEST_REPLAY_MS)
      return reason
  }
}

/** Runs one case. Returns why its failure proves nothing, if so; null if it passed. */
async function play(
  check: Check,
  target: ConformanceTarget,
  traits: Traits,
  meter: StallMeter,
): Promise<string | null> {
  const scene = new Scene(target, target.runtime ?? nodeRuntime, traits)
  const stopWatch = meter.watch()
  let failure: unknown = null
  try {
    await scene.within('the case hangs', LONGEST_CASE_MS, check.run(scene))
  } catch (error) {
    failure = error
  }
  const stalledMs = Math.round(stopWatch())
  const ended = scene.within('closing what the case opened', LONGEST_CASE_MS, scene.end())
  if (failure === null) {
    await ended
    return null
  }
  // A failure to close must not hide what the case found.
  await ended.catch(() => {})
  if (stalledMs < excuseMs(scene, failure)) throw failure
  return `inconclusive, because this process stood still for ${stalledMs} ms: ${String(failure)}`
}
