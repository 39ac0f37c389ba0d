import { randomUUID } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { examine } from '../check/index.ts'
import { storyOf } from '../check/story.ts'
import type { Violation } from '../check/violation.ts'
import { readHistory } from '../history.ts'
import { CLOCKS } from './clocks.ts'
import type { Control } from './control.ts'
import { GENERATIONS } from './generations.ts'
import { QUORUMS } from './quorums.ts'
import { RESOURCES } from './resources.ts'
import { QUICK, Stage } from './stage.ts'
import { WAITING } from './waiting.ts'

export const CONTROLS: readonly Control[] = [...GENERATIONS, ...CLOCKS, ...QUORUMS, ...WAITING, ...RESOURCES]

export interface ControlResult {
  readonly control: Control
  /** Null when the harness did not see it: whatever it says of others is void then. */
  readonly flag: Violation | null
}

const MOST_PLAYS = 3

/** A lock that is held to everything. */
const STRICT = { weaknesses: {}, failoverMs: 0, fifo: true }

/** Plays every control, all at once, each on a key of its own. */
export async function playControls(controls: readonly Control[], folder: string): Promise<ControlResult[]> {
  const server = await startRedis()
  try {
    return await Promise.all(controls.map((control) => playUntilFlagged(control, folder, server.port)))
  } finally {
    await server.stop()
  }
}

/** The scenes are played by the clock, and a machine that stands still in the middle plays another one. */
async function playUntilFlagged(control: Control, folder: string, port: number): Promise<ControlResult> {
  for (let plays = 1; ; plays++) {
    const result = await playControl(control, folder, port)
    if (result.flag !== null || plays === MOST_PLAYS) return result
  }
}

async function playControl(control: Control, folder: string, port: number): Promise<ControlResult> {
  const own = join(folder, control.name.replaceAll(' ', '-'))
  rmSync(own, { recursive: true, force: true })
  mkdirSync(own, { recursive: true })
  // A key of its own for each play: what an earlier one left must not be in the way.
  const stage = new Stage(`${control.name} ${randomUUID()}`, own, port)
  try {
    await control.play(stage)
  } finally {
    await stage.close()
  }
  const { violations } = examine(storyOf(readHistory(own)), STRICT, QUICK)
  return { control, flag: violations.find(({ check }) => check === control.flaggedBy) ?? null }
}
