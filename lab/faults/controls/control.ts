import type { Promised } from '../check/violation.ts'
import type { Stage } from './stage.ts'

/** A lock that is broken on purpose, and the scene that breaks it. A harness that does not see it proves nothing. */
export interface Control {
  readonly name: string
  /** The property that it lacks. */
  readonly lacks: string
  /** The check that has to notice. */
  readonly flaggedBy: Promised
  play(stage: Stage): Promise<void>
}
