import { createLocks, type LocksOptions } from 'holdfast'
import { memory, memoryWorld } from 'holdfast/memory'
import { expect, it, onTestFinished } from 'vitest'
import { goneLabel } from './wards.ts'

function scene() {
  const world = memoryWorld()
  return (options: LocksOptions = {}) => {
    const locks = createLocks({ store: memory({ world }), ...options })
    onTestFinished(() => locks.close())
    return locks
  }
}

it('says of how many claims it cannot look at the process', async () => {
  const open = scene()
  const operator = open()
  await open({ label: 'elsewhere.example:17' }).acquire('a')
  await open({ label: 'billing' }).acquire('b')
  const waiting = open({ label: 'elsewhere.example:18' }).acquire('a')
  waiting.catch(() => {})
  while ((await operator.read('a')).queue.length === 0) await new Promise(setImmediate)
  expect((await operator.doctor({ watch: 0 })).unseen).toContainEqual({
    what: 'whether the processes of 2 holders and 1 waiter run or are stopped',
    why: 'they are on other hosts, have labels of their own, or this system does not tell',
  })
})

it.runIf(process.platform === 'linux')('looks at the processes of its own host', async () => {
  const open = scene()
  const operator = open()
  await operator.acquire('a')
  await open({ label: goneLabel() }).acquire('b')
  const { findings, unseen } = await operator.doctor({ watch: 0 })
  expect(findings.map(({ code }) => code)).toEqual(['HOLDER_GONE'])
  expect(unseen.filter(({ what }) => what.includes('processes of'))).toEqual([])
})
