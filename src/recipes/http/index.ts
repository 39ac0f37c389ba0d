export { type FastifyReplyLike, type FastifyRequestLike, idempotencyKeyFastify } from './fastify.ts'
export { type HonoContext, idempotencyKeyHono } from './hono.ts'
export type { IdempotencyOptions } from './keys.ts'
export { idempotencyKey, idempotentHandler } from './node.ts'
