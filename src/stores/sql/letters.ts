import type { StoreNotice } from '../../core/store.ts'
import type { KeyLetter } from '../../model/index.ts'

/** A letter as one line of text. The inbox is its address and does not travel with it. */
export function encodeLetter({ key, notice }: KeyLetter): string {
  return JSON.stringify({ ...notice, key }, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

/** Null for a line that is not a letter: notices are hints, and a damaged one is as good as lost. */
export function decodeLetter(line: string): StoreNotice | null {
  try {
    const notice = JSON.parse(line) as StoreNotice
    if (typeof notice.key !== 'string' || typeof notice.id !== 'string') return null
    return notice.kind === 'granted' ? { ...notice, token: BigInt(String(notice.token)) } : notice
  } catch {
    return null
  }
}
