export { type FenceOptions, fencingToken, type SoonGuard } from './http.ts'
export { type Guard, memoryGuard } from './memory.ts'
export { type RedisGuard, type RedisLike, redisGuard } from './redis.ts'
export {
  type FencedUpdate,
  type MysqlLike,
  type PgLike,
  type SqlScalar,
  updateFencedMysql,
  updateFencedPg,
} from './sql.ts'
