import type { Traits } from '../../core/store.ts'

/** The traits that SQLite, PostgreSQL and MySQL have in common: all that the model can do. */
export const FULL_TRAITS = {
  modes: ['exclusive', 'shared', 'permits'],
  order: 'fifo',
  fencing: 'until data loss',
  ttlStepMs: 1,
  adoption: true,
  owners: true,
  lockDelay: true,
  groups: true,
  records: true,
  immediate: false,
} as const satisfies Partial<Traits>
