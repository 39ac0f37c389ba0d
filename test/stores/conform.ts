import { type ConformanceTarget, conformanceCases } from 'holdfast/testing'
import { describe, test, vi } from 'vitest'

/** The cases of one store side by side; most of the time they wait for a ttl. */
export function conform(target: ConformanceTarget): void {
  vi.setConfig({ maxConcurrency: 16 })
  describe.concurrent(target.name, () => {
    for (const { topic, name, run } of conformanceCases(target)) test(`${topic}: ${name}`, run)
  })
}
