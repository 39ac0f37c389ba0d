import type { Admin } from '../../../core/store.ts'
import { UnsupportedError } from '../../../errors.ts'
import { type EvictAnswer, isInUse, type KeyView, seqOf, strangeView } from '../../../model/index.ts'
import { unknownFormat } from '../codec.ts'
import { parts, scan } from '../scan.ts'
import type { Scripting } from '../scripting.ts'
import { STRANGER } from './codec.ts'
import { keyOfState, stateName, statePattern } from './names.ts'
import { readPlainLocks } from './reading.ts'

const KEYS_PER_READ = 50

export class PlainAdmin implements Admin {
  private readonly scripting: Scripting

  constructor(scripting: Scripting) {
    this.scripting = scripting
  }

  async read(key: string): Promise<KeyView> {
    const [view] = await readPlainLocks(this.scripting, [key])
    if (view === undefined || view === null) throw unknownFormat()
    return view
  }

  /** Finds what Holdfast has locked within the last day, or waits for: nothing tells a lock of others from any other text. */
  async *list(prefix: string, onPage?: () => void): AsyncIterable<KeyView> {
    const { client } = this.scripting
    const shown = new Set<string>()
    for await (const names of scan(client, statePattern(prefix, client.keyPrefix), onPage)) {
      const keys = names
        .map((name) => keyOfState(name.slice(client.keyPrefix.length)))
        .filter((key) => key !== null)
        .filter((key) => key.startsWith(prefix) && !shown.has(key))
      for (const some of parts([...new Set(keys)], KEYS_PER_READ)) {
        const views = await readPlainLocks(this.scripting, some)
        onPage?.()
        for (const [index, seen] of views.entries()) {
          const view = seen ?? strangeView(some[index] as string)
          if (!isInUse(view)) continue
          // A cursor may bring the same key twice.
          shown.add(view.key)
          yield view
        }
      }
    }
  }

  async evict(key: string, token: bigint | null, ask: boolean): Promise<EvictAnswer> {
    const seq = token === null ? '' : String(seqOf(token))
    const args = [ask ? 'ask' : 'evict', seq]
    const labels = await this.scripting.run('plainEvict', [key, stateName(key)], args)
    if (!Array.isArray(labels)) throw unknownFormat()
    if (ask && labels[0] === '')
      throw new UnsupportedError('the holder came with another library and hears nothing')
    return {
      kind: labels.length === 0 ? 'absent' : 'evicted',
      labels: (labels as string[]).map((label) => label || STRANGER),
    }
  }
}
