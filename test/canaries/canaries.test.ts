import { type ConformanceReport, FakeRuntime, runConformance } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { TOPICS } from '../../src/testing/conformance/target.ts'
import type { Canary } from './canary.ts'
import { crowds } from './crowds.ts'
import { holds } from './holds.ts'
import { modes } from './modes.ts'
import { queue } from './queue.ts'
import { stocks } from './stock.ts'
import { tokens } from './tokens.ts'
import { views } from './views.ts'
import { World } from './world.ts'

const canaries: readonly Canary[] = [...crowds, ...holds, ...queue, ...modes, ...stocks, ...tokens, ...views]

/** The whole suite, all cases side by side, on virtual time. */
function examine(name: string, Patient: Canary['World']): Promise<ConformanceReport> {
  const runtime = new FakeRuntime()
  const world = new Patient(runtime)
  return runtime.until(runConformance({ name, runtime, open: () => world.open() }, { concurrency: 1000 }))
}

test('the healthy store that the canaries are made of passes', async () => {
  const report = await examine('healthy', World)
  expect(report.failed.map(({ topic, name, error }) => `${topic}: ${name}: ${error.message}`)).toEqual([])
  expect(report.passed.length).toBeGreaterThan(200)
})

describe('the suite finds out that', () => {
  test.each(canaries.map((canary) => [canary.disease, canary] as const))(
    '%s',
    async (disease, { topic, World }) => {
      const report = await examine(disease, World)
      expect([...new Set(report.failed.map((failure) => failure.topic))]).toContain(topic)
    },
  )
})

test('every topic of the suite has a canary of its own', () => {
  expect(TOPICS.filter((topic) => !canaries.some((canary) => canary.topic === topic))).toEqual([])
})
