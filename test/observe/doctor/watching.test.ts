import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks, type KeyView } from 'holdfast'
import { memory, memoryWorld } from 'holdfast/memory'
import { expect, it } from 'vitest'
import { StoreLocks } from '../../../src/core/locks.ts'
import { examine } from '../../../src/observe/doctor/examine.ts'

it('sees that a line is stuck although its first look took most of the time', async () => {
  const world = memoryWorld()
  await using locks = createLocks({ store: memory({ world }), label: 'web:1' })
  await using others = createLocks({ store: memory({ world }), label: 'web:2' })
  if (!(locks instanceof StoreLocks)) throw new Error('not what createLocks makes')
  await locks.semaphore('other', { limit: 1 }).acquire()
  others
    .semaphore('other', { limit: 1 })
    .acquire({ wait: '30s' })
    .catch(() => {})
  const { admin, records, settings, traits } = locks
  let looks = 0
  async function* list(prefix: string): AsyncIterable<KeyView> {
    if (looks++ === 0) await sleep(800)
    yield* admin.list(prefix)
  }
  const diagnosis = await examine(
    {
      admin: { ...admin, list },
      records,
      settings,
      traits,
      cycles: async () => ({ proven: [], likely: [] }),
    },
    { stuck: '100ms', watch: '1s' },
  )
  expect(looks).toBe(2)
  expect(diagnosis.findings.map(({ code, key }) => `${code} ${key}`)).toContain('LINE_STUCK other')
})
