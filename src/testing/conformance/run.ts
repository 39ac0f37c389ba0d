import { checkOptions, checkWholeNumber, type NamesOf } from '../../core/check.ts'
import { nodeRuntime } from '../../core/runtime.ts'
import { conformanceCases } from './cases.ts'
import type { ConformanceCase, ConformanceReport, ConformanceTarget } from './target.ts'

export interface RunOptions {
  /** The number of cases that run at the same time: default 24. Each has two or three connections open. */
  concurrency?: number
}

const OPTIONS: NamesOf<RunOptions> = { concurrency: true }
const MOST_AT_ONCE = 1000

type Entry<K extends keyof ConformanceReport> = ConformanceReport[K][number]

/** Runs the whole suite concurrently, without a test runner. */
export async function runConformance(
  target: ConformanceTarget,
  options: RunOptions = {},
): Promise<ConformanceReport> {
  const { concurrency = 24 } = checkOptions('options', options, OPTIONS)
  checkWholeNumber('concurrency', concurrency, 1, MOST_AT_ONCE)
  const cases = conformanceCases(target)
  const runtime = target.runtime ?? nodeRuntime
  const passed: Entry<'passed'>[] = []
  const failed: Entry<'failed'>[] = []
  const skipped: Entry<'skipped'>[] = []

  const runOne = async ({ topic, name, run }: ConformanceCase): Promise<void> => {
    const startedAtMs = runtime.nowMs()
    let reason: string | null = null
    const skip = (why: string): void => {
      reason = why
    }
    try {
      await run({ skip })
      if (reason === null) passed.push({ topic, name, tookMs: runtime.nowMs() - startedAtMs })
      else skipped.push({ topic, name, reason })
    } catch (error) {
      failed.push({ topic, name, error: error instanceof Error ? error : new Error(String(error)) })
    }
  }

  const waiting = cases[Symbol.iterator]()
  const worker = async (): Promise<void> => {
    for (const next of waiting) await runOne(next)
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return { passed, failed, skipped }
}
