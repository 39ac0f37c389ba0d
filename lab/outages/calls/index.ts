import type { Call } from './call.ts'
import { LOCKING } from './locking.ts'
import { OTHERS } from './others.ts'

/** Played while a fault lasts. */
export const CALLS: readonly Call[] = [...LOCKING, ...OTHERS]
