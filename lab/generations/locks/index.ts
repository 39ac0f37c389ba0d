import { FencedLock } from './fenced.ts'
import { FirstLock, TwoStepLock } from './first.ts'
import { FourthLock } from './fourth.ts'
import type { Lock, Redis, Seam } from './lock.ts'
import { SecondLock } from './second.ts'
import { LookThenDeleteLock, ThirdLock } from './third.ts'

const HAND_MADE = {
  first: FirstLock,
  twoStep: TwoStepLock,
  second: SecondLock,
  lookThenDelete: LookThenDeleteLock,
  third: ThirdLock,
  fourth: FourthLock,
} as const

export type HandMade = keyof typeof HAND_MADE
export type Generation = HandMade | 'fenced'

/** One of the four generations that everyone writes by hand. `seam` is where it may be made to stand still. */
export function handMade(generation: HandMade, redis: Redis, seam: Seam = async () => {}): Lock {
  return new HAND_MADE[generation](redis, seam)
}

/** The lock of this package, over the store that the URL names. */
export function fenced(url: string, label: string): Promise<Lock> {
  return FencedLock.open(url, label)
}
