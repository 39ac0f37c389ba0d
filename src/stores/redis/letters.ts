import type { StoreNotice } from '../../core/store.ts'
import { type LossCause, tokenOf } from '../../model/index.ts'
import { keyOfLock } from './names.ts'

/** The key that the name of a lock in Redis was made from. */
export type KeyOf = (name: string) => string

/** What a script published to an inbox. Null for anything else: notices are hints, and a strange one is as good as lost. */
export function noticeOf(message: string, keyOf: KeyOf = keyOfLock): StoreNotice | null {
  const [kind, id = '', ...rest] = message.split('\0')
  const key = keyOf(rest.at(-1) ?? '')
  switch (kind) {
    case 'granted': {
      const [seq, spare, contended, storeTimeMs, lifeMs] = rest.map(Number) as [
        number,
        number,
        number,
        number,
        number,
      ]
      const token = tokenOf(seq)
      return { kind, id, key, token, spare, contended: contended === 1, storeTimeMs, lifeMs }
    }
    case 'lost':
      return { kind, id, key, cause: rest[0] as LossCause }
    case 'contended':
    case 'revoked':
      return { kind, id, key }
    default:
      return null
  }
}
