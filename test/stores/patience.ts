import { setTimeout as sleep } from 'node:timers/promises'

/** A look that comes this late was held up by the machine, not by what is looked at. */
const LATE_MS = 50

/** Looks every `stepMs` until `met`; throws after that time. Times in which this process stood still do not count. */
export async function untilMet(
  met: () => boolean,
  withinMs: number,
  problem: () => string,
  stepMs = 5,
): Promise<void> {
  let giveUpAtMs = performance.now() + withinMs
  while (!met()) {
    const lookedAtMs = performance.now()
    if (lookedAtMs > giveUpAtMs) throw new Error(problem())
    await sleep(stepMs)
    const lateMs = performance.now() - lookedAtMs - stepMs
    if (lateMs > LATE_MS) giveUpAtMs += lateMs
  }
}
