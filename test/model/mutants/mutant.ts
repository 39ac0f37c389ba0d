import type { topics } from '../properties/index.ts'

/** A small mistake in the model, and the topic whose properties must notice it. */
export interface Mutant {
  readonly mistake: string
  readonly file: string
  /** Stands in the file exactly once. */
  readonly from: string
  readonly to: string
  readonly noticedBy: keyof typeof topics
}
