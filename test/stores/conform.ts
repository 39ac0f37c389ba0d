import { type ConformanceTarget, conformanceCases } from 'holdfast/testing'
import { describe, test, vi } from 'vitest'

/** One store after the other, the cases of each side by side: most of the time they wait for a ttl. */
export function conform(target: ConformanceTarget): void {
  vi.setConfig({ maxConcurrency: 16 })
  describe(target.name, () => {
    for (const { topic, name, run } of conformanceCases(target)) test.concurrent(`${topic}: ${name}`, run)
  })
}
