import { nodeRuntime } from '../../core/runtime.ts'
import type { Traits } from '../../core/store.ts'
import type { Check } from './check.ts'
import { Scene } from './scene.ts'
import {
  type CaseContext,
  type ConformanceCase,
  type ConformanceTarget,
  type Skip,
  TOPICS,
  type Topic,
} from './target.ts'
import { CHECKS } from './topics/index.ts'

/** A case that takes this long hangs. */
const LONGEST_CASE_MS = 25_000

/** Every case of the suite for one store. They use keys of their own and may run side by side. */
export function conformanceCases(target: ConformanceTarget): ConformanceCase[] {
  const skips = target.skips ?? []
  for (const skip of skips) requireSound(skip)
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
        const reason = reasonNotTo(check, await traits, target)
        if (reason === null) await play(check, target, await traits)
        else context?.skip(reason)
      }
      return { topic, name: check.name, run }
    }),
  )
}

/** A skip without a reason hides a failure, and one that names no case has outlived it. */
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

async function play(check: Check, target: ConformanceTarget, traits: Traits): Promise<void> {
  const scene = new Scene(target, target.runtime ?? nodeRuntime, traits)
  let failed = false
  try {
    await scene.within('the case hangs', LONGEST_CASE_MS, check.run(scene))
  } catch (error) {
    failed = true
    throw error
  } finally {
    const ended = scene.within('closing what the case opened', LONGEST_CASE_MS, scene.end())
    // A failure to close must not hide what the case found.
    await (failed ? ended.catch(() => {}) : ended)
  }
}
