import type { StoreNotice } from '../../core/store.ts'
import type { KeyNotification } from '../../model/index.ts'

/** A notification as one line of text, without its inbox, which is the address. */
export function encodeNotification({ key, notice }: KeyNotification): string {
  if (notice.kind !== 'granted') return JSON.stringify({ ...notice, key })
  return JSON.stringify({ ...notice, key, token: notice.token === null ? null : String(notice.token) })
}

/** Null for a damaged line: notifications are hints and may be lost. */
export function decodeNotification(line: string): StoreNotice | null {
  try {
    const notice = JSON.parse(line) as StoreNotice
    if (typeof notice.key !== 'string' || typeof notice.id !== 'string') return null
    if (notice.kind !== 'granted' || notice.token === null) return notice
    return { ...notice, token: BigInt(String(notice.token)) }
  } catch {
    return null
  }
}
