import type { Admin } from '../../../core/store.ts'
import { UnsupportedError } from '../../../errors.ts'
import { type EvictAnswer, isInUse, type KeyView, seqOf } from '../../../model/index.ts'
import { unknownFormat } from '../codec.ts'
import type { Scripting } from '../scripting.ts'
import { STRANGER, viewOf } from './codec.ts'
import { keyOfSide, sideName, sidePattern } from './names.ts'

const KEYS_PER_SCAN = '500'

export class PlainAdmin implements Admin {
  private readonly scripting: Scripting

  constructor(scripting: Scripting) {
    this.scripting = scripting
  }

  async read(key: string): Promise<KeyView> {
    const [answer] = (await this.scripting.run('plainRead', [key, sideName(key)], [])) as unknown[]
    return viewOf(key, answer)
  }

  /** Finds what Holdfast has locked within the last day: nothing tells a lock of others from any other text. */
  async *list(prefix: string): AsyncIterable<KeyView> {
    const { client } = this.scripting
    const pattern = sidePattern(prefix, client.keyPrefix)
    const shown = new Set<string>()
    let cursor = '0'
    do {
      const page = await client.send('SCAN', [cursor, 'MATCH', pattern, 'COUNT', KEYS_PER_SCAN])
      const [next, names] = page as [unknown, string[]]
      cursor = String(next)
      for (const name of names) {
        const key = keyOfSide(name.slice(client.keyPrefix.length))
        if (key === null || !key.startsWith(prefix) || shown.has(key)) continue
        shown.add(key)
        const view = await this.read(key)
        if (isInUse(view)) yield view
      }
    } while (cursor !== '0')
  }

  async evict(key: string, token: bigint | null, ask: boolean): Promise<EvictAnswer> {
    const seq = token === null ? '' : String(seqOf(token))
    const args = [ask ? 'ask' : 'evict', seq]
    const labels = await this.scripting.run('plainEvict', [key, sideName(key)], args)
    if (!Array.isArray(labels)) throw unknownFormat()
    if (ask && labels[0] === '')
      throw new UnsupportedError('the holder came with another library and hears nothing')
    return {
      kind: labels.length === 0 ? 'absent' : 'evicted',
      labels: (labels as string[]).map((label) => label || STRANGER),
    }
  }
}
