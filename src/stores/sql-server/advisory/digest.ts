import { createHash } from 'node:crypto'

/** The first bits of the SHA-256 of a key, in hexadecimal digits of four bits each. */
export function digestOf(key: string, digits: number): string {
  return createHash('sha256').update(key).digest('hex').slice(0, digits)
}
