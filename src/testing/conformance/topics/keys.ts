import assert from 'node:assert/strict'
import { type Check, check } from '../check.ts'
import type { Scene } from '../scene.ts'

const LONGEST_KEY_BYTES = 512

export const keys: readonly Check[] = [
  check('keys that differ in case or by a space are different keys', (scene) =>
    apart(scene, ['order', 'Order', 'ORDER', 'order ', ' order', 'order  ', 'order\t']),
  ),

  check('wildcards of servers are letters like any other', (scene) =>
    apart(scene, ['a*', 'a?', 'a%', 'a_', 'a[bc]', 'ab', 'ac', 'a\\%', 'a^', 'a!']),
  ),

  check('quotes, braces and separators are letters like any other', (scene) =>
    apart(scene, [
      `it's`,
      `"it"`,
      '`it`',
      `it\\'s`,
      `'; drop table locks; --`,
      '{a}b',
      '{b}a',
      '{}',
      '{{a}}',
      'a:b',
      'a|b',
      'a,b',
      'a;b',
      'a=b',
      'a&b',
      'a#b',
      '$1',
      ':name',
      '@at',
    ]),
  ),

  check('paths and dots are letters like any other', (scene) =>
    apart(scene, [
      '/',
      '//',
      '.',
      '..',
      'a/b',
      'a//b',
      '/a/b',
      'a/b/',
      'a/../b',
      'a\\b',
      '%2F',
      'a%2Fb',
      'a b',
      'a+b',
      'a%20b',
    ]),
  ),

  check('letters of every script are kept apart', (scene) =>
    apart(scene, [
      'é',
      'e\u0301',
      'e',
      'E',
      'ß',
      'ss',
      'ı',
      'i',
      'İ',
      'Ω',
      'ω',
      'ключ',
      'مفتاح',
      '鍵',
      '键',
      '🔒',
      '🔑',
      '👩‍💻',
      '👩',
    ]),
  ),

  check('control characters are kept apart', (scene) =>
    apart(scene, [
      'a\nb',
      'a\rb',
      'a\r\nb',
      'a\tb',
      'a\u0001b',
      'a\u001bb',
      'a\u007fb',
      'a\u0085b',
      'a\u200bb',
      'a\ufeffb',
      'a\uffffb',
      'ab',
    ]),
  ),

  check('keys of 512 bytes are told apart by their last byte', async (scene) => {
    const stem = scene.key()
    const fill = (end: string) => stem + 'x'.repeat(LONGEST_KEY_BYTES - Buffer.byteLength(stem + end)) + end
    await exclusive(scene, [fill('a'), fill('b'), fill('é'), fill('🔒')])
  }),

  check('a key that is the beginning of another does not block it', async (scene) => {
    const stem = scene.key('stem')
    await exclusive(scene, [stem, `${stem}/`, `${stem}:`, `${stem}0`, `${stem}-line`, `${stem}/line`])
  }),
]

function apart(scene: Scene, names: readonly string[]): Promise<void> {
  const stem = scene.key()
  return exclusive(
    scene,
    names.map((name) => stem + name),
  )
}

/** Every key can be held beside the others, by its own name, and is busy then. */
async function exclusive(scene: Scene, keysApart: readonly string[]): Promise<void> {
  const [a, b] = [await scene.party(), await scene.party()]
  const claims = []
  for (const key of keysApart) {
    const why = `${JSON.stringify(key)} is a key of its own and must be free`
    claims.push((await a.take(key, { label: `holds ${key}` }, why)).claim)
  }
  for (const claim of claims) {
    const name = JSON.stringify(claim.key)
    await b.block(claim.key, {}, `${name} is held and must be blocked`)
    const view = await b.store.admin.read(claim.key)
    assert.equal(view.key, claim.key, 'read must give the key back as it was written')
    const labels = view.holders.map((holder) => holder.label)
    assert.equal(labels.length, 1, `read of ${name} must show its holder`)
    if (scene.traits.session !== true)
      assert.deepEqual(labels, [claim.label], `read of ${name} must show its own holder`)
    assert.equal(await a.renew(claim), 'renewed', `${name} must be renewed`)
    assert.equal(await a.release(claim), 'released', `${name} must be released`)
  }
}
