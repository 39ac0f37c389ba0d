import { RedisError, type Reply } from './protocol.ts'

/** A reply as the program redis-cli would show it, in one line. */
export function textOf(reply: Reply): string {
  if (reply === null) return '(nil)'
  if (reply instanceof RedisError) return `(error) ${reply.message}`
  return Array.isArray(reply) ? `[${reply.map(textOf).join(', ')}]` : String(reply)
}
