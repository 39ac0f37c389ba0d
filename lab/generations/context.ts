import type { DemoScreen } from '../../src/cli/demo/screen.ts'
import type { LabEnvironment } from './environments.ts'

/** The input of a scenario: where it runs, where it is shown, and when to stop. */
export interface Stage {
  readonly place: LabEnvironment
  /** A database for comparison; without it SQLite is used. */
  readonly sql: string | undefined
  readonly screen: DemoScreen
  readonly cancelled: AbortSignal
}
