import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks, type KeyView } from 'holdfast'
import { expect, it } from 'vitest'
import { StoreLocks } from '../../../src/core/locks.ts'
import { examine } from '../../../src/observe/doctor/examine.ts'

it('sees that a line is stuck although its first look took most of the time', async () => {
  await using locks = createLocks({ label: 'web:1' })
  if (!(locks instanceof StoreLocks)) throw new Error('not what createLocks makes')
  const waiting = locks.semaphore('other', { limit: 1 })
  await waiting.acquire()
  waiting.acquire({ wait: '30s' }).catch(() => {})
  const { admin, records, settings, traits } = locks
  let looks = 0
  async function* list(prefix: string): AsyncIterable<KeyView> {
    if (looks++ === 0) await sleep(800)
    yield* admin.list(prefix)
  }
  const diagnosis = await examine(
    { admin: { ...admin, list }, records, settings, traits },
    { stuck: '100ms', watch: '1s' },
  )
  expect(looks).toBe(2)
  expect(diagnosis.findings.map(({ code, key }) => `${code} ${key}`)).toContain('LINE_STUCK other')
})
