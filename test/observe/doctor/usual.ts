import type { Usual } from '../../../src/observe/doctor/context.ts'

export const USUAL: Usual = {
  pattern: 'ok:*',
  holds: 100,
  closedP99Ms: 200,
  workP99Ms: 100,
  ttlMs: 10_000,
  expired: 0,
}
