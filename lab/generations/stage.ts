import type { DemoScreen } from '../../src/cli/demo/screen.ts'
import type { Place } from './places.ts'

/** What a scenario is given: where it runs, where it is shown, and when to stop. */
export interface Stage {
  readonly place: Place
  /** A database for comparison; without it SQLite is used. */
  readonly sql: string | undefined
  readonly screen: DemoScreen
  readonly cancelled: AbortSignal
}
