import type { Admin } from '../../../core/store.ts'
import { UnsupportedError } from '../../../errors.ts'
import { type EvictAnswer, isInUse, type KeyView, seqOf, strangeView } from '../../../model/index.ts'
import { unknownFormat } from '../codec.ts'
import { scan } from '../scan.ts'
import type { Scripting } from '../scripting.ts'
import { STRANGER, viewOf } from './codec.ts'
import { keyOfSide, sideName, sidePattern } from './names.ts'

export class PlainAdmin implements Admin {
  private readonly scripting: Scripting

  constructor(scripting: Scripting) {
    this.scripting = scripting
  }

  async read(key: string): Promise<KeyView> {
    return viewOf(key, await this.look(key))
  }

  /** Finds what Holdfast has locked within the last day: nothing tells a lock of others from any other text. */
  async *list(prefix: string, onPage?: () => void): AsyncIterable<KeyView> {
    const { client } = this.scripting
    const pattern = sidePattern(prefix, client.keyPrefix)
    const shown = new Set<string>()
    for await (const names of scan(client, pattern, onPage)) {
      for (const name of names) {
        const key = keyOfSide(name.slice(client.keyPrefix.length))
        if (key === null || !key.startsWith(prefix) || shown.has(key)) continue
        shown.add(key)
        const answer = await this.look(key)
        const view = Array.isArray(answer) ? viewOf(key, answer) : strangeView(key)
        if (isInUse(view)) yield view
        else onPage?.()
      }
    }
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

  private async look(key: string): Promise<unknown> {
    const [answer] = (await this.scripting.run('plainRead', [key, sideName(key)], [])) as unknown[]
    return answer
  }
}
