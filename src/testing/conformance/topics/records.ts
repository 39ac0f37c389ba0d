import assert from 'node:assert/strict'
import type { Records } from '../../../core/store.ts'
import type { RecordCondition, TakeAnswer } from '../../../model/index.ts'
import { type Check, check, lacking, ordered, recording } from '../check.ts'
import type { Scene } from '../scene.ts'

const always: RecordCondition = { kind: 'always' }
const absent: RecordCondition = { kind: 'absent' }
const versionIs = (version: number): RecordCondition => ({ kind: 'version', version })

const values: readonly Check[] = [
  check('what is written is read, by everyone', recording, async (scene) => {
    const [a, b] = [await recordsOf(scene), await recordsOf(scene)]
    for (const value of [
      '',
      '{"a":1}',
      `it's "quoted" \\ {x} %s $1`,
      'ünï 🔒 鍵',
      'line\nline\ttab',
      'x'.repeat(20_000),
    ]) {
      const key = scene.key()
      const version = await write(a, key, value)
      assert.deepEqual(await b.read(key), { value, version, expiresAtMs: null })
    }
  }),

  check('a record that was never written is null', recording, async (scene) => {
    const a = await recordsOf(scene)
    assert.equal(await a.read(scene.key()), null)
  }),

  check('absent writes once', recording, async (scene) => {
    const [a, b] = [await recordsOf(scene), await recordsOf(scene)]
    const key = scene.key()
    const version = await write(a, key, 'first', absent)
    const answer = await b.write(key, 'second', null, absent)
    assert.ok(answer.kind === 'refused', 'the record is there')
    assert.deepEqual([answer.current?.value, answer.current?.version], ['first', version])
    assert.equal((await a.read(key))?.value, 'first')
  }),

  check('of many that write if absent one does', recording, async (scene) => {
    const [a, b] = [await recordsOf(scene), await recordsOf(scene)]
    const key = scene.key()
    const writes = Array.from({ length: 8 }, (_, index) =>
      (index % 2 ? a : b).write(key, String(index), null, absent),
    )
    const written = (await Promise.all(writes)).filter((answer) => answer.kind === 'written').length
    assert.equal(written, 1, `${written} writers found the record absent`)
  }),

  check('a version is written over once', recording, async (scene) => {
    const [a, b] = [await recordsOf(scene), await recordsOf(scene)]
    const key = scene.key()
    const first = await write(a, key, 'first')
    const second = await write(b, key, 'second', versionIs(first))
    assert.ok(second > first, `version ${second} after ${first}`)
    const answer = await a.write(key, 'late', null, versionIs(first))
    assert.ok(answer.kind === 'refused', 'the record has another version by now')
    assert.equal(answer.current?.version, second)
    assert.equal((await a.read(key))?.value, 'second')
  }),

  check('a version that nobody wrote is refused', recording, async (scene) => {
    const a = await recordsOf(scene)
    assert.deepEqual(await a.write(scene.key(), 'x', null, versionIs(1)), { kind: 'refused', current: null })
  }),

  check('of many that write over one version one does', recording, async (scene) => {
    const [a, b] = [await recordsOf(scene), await recordsOf(scene)]
    const key = scene.key()
    const version = await write(a, key, '0')
    const writes = Array.from({ length: 8 }, (_, index) =>
      (index % 2 ? a : b).write(key, '1', null, versionIs(version)),
    )
    const written = (await Promise.all(writes)).filter((answer) => answer.kind === 'written').length
    assert.equal(written, 1, `${written} writers replaced the same version`)
  }),

  check('an old version never comes back', recording, async (scene) => {
    const a = await recordsOf(scene)
    const key = scene.key()
    let last = 0
    const rises = (version: number): void => {
      assert.ok(version > last, `version ${version} after ${last}`)
      last = version
    }
    rises(await write(a, key, 'one'))
    rises(await write(a, key, 'two'))
    assert.equal(await a.remove(key, always), true)
    rises(await write(a, key, 'three'))
    const short = await a.write(key, 'four', scene.ttlMs(200), always)
    assert.ok(short.kind === 'written')
    rises(short.version)
    await gone(scene, a, key, scene.ttlMs(200))
    rises(await write(a, key, 'five'))
  }),
]

const conditions: readonly Check[] = [
  check('a write while a claim is held needs the claim to be held', recording, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const records = a.store.records as Records
    const [lock, key] = scene.kin('lock', 'record') as [string, string]
    const { claim } = await a.take(lock)
    const held: RecordCondition = { kind: 'held', key: lock, id: claim.id }
    await write(records, key, 'mine', held)
    const strange: RecordCondition = { kind: 'held', key: lock, id: b.claim(lock).id }
    assert.equal(
      (await records.write(key, 'yours', null, strange)).kind,
      'refused',
      'a strange id holds nothing',
    )
    await a.release(claim)
    assert.equal((await records.write(key, 'late', null, held)).kind, 'refused', 'the claim was released')
    assert.equal(await records.remove(key, held), false, 'the claim was released')
    assert.equal((await records.read(key))?.value, 'mine')
  }),

  check('an expired claim holds nothing', recording, async (scene) => {
    const a = await scene.party()
    const records = a.store.records as Records
    const [lock, key] = scene.kin('lock', 'record') as [string, string]
    const ttlMs = scene.ttlMs(300)
    const { claim } = await a.take(lock, { ttlMs })
    await scene.sleep(ttlMs + scene.slackMs)
    const answer = await records.write(key, 'late', null, { kind: 'held', key: lock, id: claim.id })
    assert.equal(answer.kind, 'refused', 'a write under an expired lease is what fencing is there to stop')
  }),

  check('a claim that waits holds nothing', [recording, ordered], async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const [lock, key] = scene.kin('lock', 'record') as [string, string]
    await a.take(lock)
    const waiter = await b.block(lock, { queue: true })
    const answer = await b.store.records?.write(key, 'early', null, {
      kind: 'held',
      key: lock,
      id: waiter.id,
    })
    assert.equal(answer?.kind, 'refused')
  }),

  check('a removal keeps to its condition', recording, async (scene) => {
    const a = await recordsOf(scene)
    const key = scene.key()
    assert.equal(await a.remove(key, always), false, 'there is nothing to remove')
    const version = await write(a, key, 'x')
    assert.equal(await a.remove(key, versionIs(version - 1)), false)
    assert.equal((await a.read(key))?.value, 'x')
    assert.equal(await a.remove(key, versionIs(version)), true)
    assert.equal(await a.read(key), null)
  }),
]

const lifetimes: readonly Check[] = [
  check('a record ends with its ttl', recording, async (scene) => {
    const [a, b] = [await recordsOf(scene), await recordsOf(scene)]
    const key = scene.key()
    const ttlMs = scene.ttlMs(400)
    const sentAtMs = scene.runtime.nowMs()
    await a.write(key, 'x', ttlMs, always)
    const read = await b.read(key)
    if (scene.runtime.nowMs() - sentAtMs < ttlMs - 20) assert.equal(read?.value, 'x', 'the ttl is not over')
    await gone(scene, b, key, ttlMs)
    assert.equal((await b.write(key, 'y', null, absent)).kind, 'written', 'an expired record is absent')
  }),

  check('a write without a ttl makes a record stay', recording, async (scene) => {
    const a = await recordsOf(scene)
    const key = scene.key()
    const ttlMs = scene.ttlMs(300)
    await a.write(key, 'x', ttlMs, always)
    await a.write(key, 'y', null, always)
    await scene.sleep(ttlMs + scene.slackMs)
    assert.equal((await a.read(key))?.value, 'y')
  }),

  check('a take leaves the ttl as it is', recording, async (scene) => {
    const a = await recordsOf(scene)
    const [ending, staying] = [scene.key('ending'), scene.key('staying')]
    const ttlMs = scene.ttlMs(600)
    await a.write(staying, '5', null, always)
    await a.write(ending, '5', ttlMs, always)
    await a.take(ending, 1)
    await a.take(staying, 1)
    await gone(scene, a, ending, ttlMs)
    assert.equal((await a.read(staying))?.value, '4')
  }),
]

const takes: readonly Check[] = [
  check('a count is taken from, never below zero', recording, async (scene) => {
    const a = await recordsOf(scene)
    const key = scene.key()
    const version = await write(a, key, '5')
    const first = taken(await a.take(key, 2))
    assert.deepEqual([first.units, first.left], [[], 3])
    assert.ok(first.version > version, 'a take must raise the version')
    assert.deepEqual(await a.take(key, 4), { kind: 'short', left: 3 }, 'all or nothing')
    assert.equal(taken(await a.take(key, 3)).left, 0)
    assert.deepEqual(await a.take(key, 1), { kind: 'short', left: 0 })
    assert.equal((await a.read(key))?.value, '0')
  }),

  check('many takers never take more than there is', recording, async (scene) => {
    const [a, b] = [await recordsOf(scene), await recordsOf(scene)]
    const key = scene.key()
    await write(a, key, '7')
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 ? a : b).take(key, 1)),
    )
    const sold = answers.filter((answer) => answer.kind === 'taken').length
    assert.equal(sold, 7, `${sold} of 7 were taken`)
    assert.equal((await a.read(key))?.value, '0')
  }),

  check('units are taken from the front, each once', recording, async (scene) => {
    const [a, b] = [await recordsOf(scene), await recordsOf(scene)]
    const key = scene.key()
    const units = ['seat 1', 'seat 2', 'sitz "3"', 'siège 4', '座席 5', 'seat 6']
    await write(a, key, JSON.stringify(units))
    const first = taken(await a.take(key, 2))
    assert.deepEqual([first.units, first.left], [units.slice(0, 2), 4])
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) => (index % 2 ? a : b).take(key, 1)),
    )
    const others = answers.flatMap((answer) => (answer.kind === 'taken' ? answer.units : []))
    assert.deepEqual([...others].sort(), units.slice(2).sort(), 'every unit must be taken once')
    assert.deepEqual(await a.take(key, 1), { kind: 'short', left: 0 })
  }),

  check('nothing is taken from a record that is not there', recording, async (scene) => {
    const a = await recordsOf(scene)
    const key = scene.key()
    assert.deepEqual(await a.take(key, 1), { kind: 'absent' })
    assert.equal(await a.read(key), null, 'a take must not create a record')
  }),

  check('records and locks of one name do not meet', recording, async (scene) => {
    const a = await scene.party()
    const records = a.store.records as Records
    const key = scene.key()
    await write(records, key, 'the record')
    const { claim } = await a.take(key, {}, 'a record is no hold')
    assert.equal((await records.read(key))?.value, 'the record')
    assert.equal(await a.release(claim), 'released')
    assert.equal((await records.read(key))?.value, 'the record', 'a release must leave the record alone')
    assert.deepEqual(await scene.list(a.store, key), [], 'a record is no key in use')
    assert.equal(await records.remove(key, always), true)
  }),

  check('records with names that differ a little are different records', recording, async (scene) => {
    const a = await recordsOf(scene)
    const stem = scene.key()
    const names = ['a', 'A', 'a ', 'á', 'a\u0301', 'a%', 'a_', 'a*', '{a}', `a'b`, '🔒', '/', '..'].map(
      (name) => stem + name,
    )
    for (const name of names) await write(a, name, name)
    for (const name of names) assert.equal((await a.read(name))?.value, name)
  }),

  check('a store without records has none', lacking(recording), async (scene) => {
    const a = await scene.locks()
    assert.equal(a.records, null)
  }),
]

export const records: readonly Check[] = [...values, ...conditions, ...lifetimes, ...takes]

async function recordsOf(scene: Scene): Promise<Records> {
  const { store } = await scene.party()
  assert.ok(store.records !== null, 'the traits promise records')
  return store.records
}

async function write(records: Records, key: string, value: string, condition = always): Promise<number> {
  const answer = await records.write(key, value, null, condition)
  assert.ok(answer.kind === 'written', `a write of ${JSON.stringify(value.slice(0, 20))} was refused`)
  return answer.version
}

async function gone(scene: Scene, records: Records, key: string, ttlMs: number): Promise<void> {
  await scene.eventually('a record must end with its ttl', scene.endedByMs(ttlMs), async () => {
    return (await records.read(key)) === null
  })
}

function taken(answer: TakeAnswer): TakeAnswer & { kind: 'taken' } {
  assert.ok(answer.kind === 'taken', `nothing was taken: ${answer.kind}`)
  return answer
}
