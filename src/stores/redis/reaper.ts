import type { Remains } from '../../core/facts.ts'
import { isOurs, STOCK_PARTS, stockOfPart } from './names.ts'
import type { Scripting } from './scripting.ts'

/** Removes leftovers that an inspection found. One script compares and removes each, so that nothing alive is touched. */
export class Reaper {
  private readonly scripting: Scripting

  constructor(scripting: Scripting) {
    this.scripting = scripting
  }

  reap(remains: readonly Remains[], olderMs: number): Promise<readonly boolean[]> {
    return Promise.all(remains.map((each) => this.remove(each, olderMs)))
  }

  private async remove({ name, kind, proof }: Remains, olderMs: number): Promise<boolean> {
    if (kind === 'foreign') {
      if (isOurs(name)) return false
      const seconds = String(Math.ceil(olderMs / 1000))
      return Number(await this.scripting.run('foreignReap', [name], [seconds, proof])) === 1
    }
    const isPart = STOCK_PARTS.some((part) => name.startsWith(part))
    const removed = isPart
      ? await this.scripting.run('stockTidy', stockOfPart(name), [])
      : await this.scripting.run('tidy', [name], [])
    return Number(removed) > 0
  }
}
