import type { Screen } from '../demo/screen.ts'
import type { Place } from './places.ts'

/** What a scenario is given: where it runs, where it is shown, and when to stop. */
export interface Stage {
  readonly place: Place
  readonly screen: Screen
  readonly cancelled: AbortSignal
}
