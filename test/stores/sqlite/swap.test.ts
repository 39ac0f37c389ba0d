import { appendFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Runtime } from '../../../src/core/runtime.ts'
import { claimOf } from './claims.ts'
import { ask, letGo, Machine, noticesOf, take, tempFolder } from './world.ts'

/** The clock of a machine, which is read between reading a row and writing it: a place for somebody to come in between. */
function withMeddler(machine: Machine): { runtime: Runtime; meddle(times: number, task: () => void): void } {
  let left = 0
  let task = (): void => {}
  const { runtime } = machine
  return {
    runtime: {
      nowMs: () => {
        if (left-- > 0) task()
        return runtime.nowMs()
      },
      wallMs: () => runtime.wallMs(),
      setTimer: (work, delayMs, background) => runtime.setTimer(work, delayMs, background),
      defer: (work) => runtime.defer(work),
      random: () => runtime.random(),
      newId: () => runtime.newId(),
    },
    meddle: (times, work) => {
      left = times
      task = work
    },
  }
}

test.each([1, 2, 3, 4])(
  'nothing is lost when others write %i times during a step on a key',
  async (times) => {
    const machine = new Machine()
    const meddler = withMeddler(machine)
    const [store, other] = [machine.open({ runtime: meddler.runtime }), machine.open()]
    await take(other, claimOf('k'))
    await ask(other, claimOf('k', { label: 'first' }))
    const between: string[] = []
    const writing: Promise<unknown>[] = []
    meddler.meddle(times, () => {
      const label = `between ${between.length}`
      between.push(label)
      // Written at once, because SQLite's calls are synchronous, or after the transaction that it came in the middle of.
      writing.push(Promise.resolve(other.attempt([claimOf('k', { label })])))
    })
    expect((await ask(store, claimOf('k', { label: 'own' }))).kind).toBe('blocked')
    meddler.meddle(0, () => {})
    await machine.runtime.until(Promise.all(writing))
    const { queue } = await other.admin.read('k')
    expect(between).not.toHaveLength(0)
    expect(queue.map(({ label }) => label).sort()).toEqual([...between, 'first', 'own'].sort())
  },
)

test('a hold that was taken over meanwhile is not released', async () => {
  const machine = new Machine()
  const meddler = withMeddler(machine)
  const [store, other] = [machine.open({ runtime: meddler.runtime }), machine.open()]
  const [mine, theirs] = [claimOf('k', { label: 'mine' }), claimOf('k', { label: 'theirs' })]
  await take(store, mine)
  await ask(other, theirs)
  const evicting: Promise<unknown>[] = []
  meddler.meddle(3, () => void evicting.push(Promise.resolve(other.admin.evict('k', null, false))))
  expect(await letGo(store, mine)).toBe('absent')
  await machine.runtime.until(Promise.all(evicting))
  expect((await store.admin.read('k')).holders.map(({ label }) => label)).not.toContain('mine')
})

test('notifications reach an inbox that was replaced while its sender had the old file open', async () => {
  const path = join(tempFolder(), 'locks.db')
  const machine = new Machine(path)
  const [waiter, sender] = [machine.open(), machine.open()]
  const told = noticesOf(waiter)
  for (let round = 0; round < 3; round++) {
    const mine = claimOf('k')
    await take(sender, mine)
    const waiting = claimOf('k')
    await ask(waiter, waiting)
    await letGo(sender, mine)
    expect(await told.next()).toMatchObject({ kind: 'granted', id: waiting.id })
    await letGo(waiter, waiting)
    const mailbox = join(`${path}-wake`, readdirSync(`${path}-wake`)[0] as string)
    const { ino } = statSync(mailbox)
    // More than a mailbox may grow to, in lines that are no letters.
    appendFileSync(mailbox, `${'x'.repeat(1000)}\n`.repeat(300))
    await expect.poll(() => statSync(mailbox).ino).not.toBe(ino)
  }
})
