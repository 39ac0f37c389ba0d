import type { KeyState } from '../../src/model/index.ts'
import type { Fail } from './violation.ts'

/** Watches the server's state for what a client may never see but must be able to rely on. */
export class Ledger {
  private readonly fail: Fail

  constructor(fail: Fail) {
    this.fail = fail
  }

  changed(key: string, doing: string, before: KeyState, after: KeyState): void {
    const ids = idsOf(after)
    if (new Set(ids).size < ids.length) {
      this.fail('claim counted twice', `${key}: the same claim is there more than once: ${ids.join(', ')}`)
    }
    if (doing !== 'renew') return
    const known = new Set(idsOf(before))
    const created = ids.find((id) => !known.has(id))
    if (created !== undefined) this.fail('renewal created', `${key}: a renewal brought ${created} into being`)
  }
}

function idsOf(state: KeyState): string[] {
  const ids = state.queue.map(({ claim }) => claim.id)
  for (const hold of state.holds) for (const member of hold.members) ids.push(member.id)
  return ids
}
