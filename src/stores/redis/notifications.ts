import type { StoreNotice } from '../../core/store.ts'
import { type LossCause, tokenOf } from '../../model/index.ts'
import { keyOfLock } from './names.ts'

/** The key of a lock by its name in Redis. */
export type KeyOf = (name: string) => string

/** Parses a message of a script. Null for anything else: notifications are hints, and an unknown one is as good as lost. */
export function parseNotification(message: string, keyOf: KeyOf = keyOfLock): StoreNotice | null {
  // Split and not matched: this code runs rarely before a waiter's turn, and a cold regular expression is slow.
  const fields = message.split('\0')
  const kind = fields[0]
  const id = fields[1] ?? ''
  const key = keyOf(fields.length < 3 ? '' : (fields[fields.length - 1] as string))
  switch (kind) {
    case 'granted':
      return {
        kind,
        id,
        key,
        token: tokenOf(Number(fields[2])),
        spare: Number(fields[3]),
        contended: fields[4] === '1',
        storeTimeMs: Number(fields[5]),
        lifeMs: Number(fields[6]),
      }
    case 'lost':
      return { kind, id, key, cause: fields[2] as LossCause }
    case 'contended':
    case 'revoked':
    case 'retry':
      return { kind, id, key }
    default:
      return null
  }
}
