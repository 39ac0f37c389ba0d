import type { Diagnosis, Ward } from './examine.ts'
import type { DoctorOptions } from './options.ts'
import type { ReapedThing, ReapOptions } from './reaper.ts'
import { type Recorded, Recorder } from './recorder.ts'

export type { Diagnosis } from './examine.ts'
export type { Finding, FindingCode, Severity } from './findings.ts'
export type { DoctorOptions } from './options.ts'
export type { ReapedThing, ReapOptions } from './reaper.ts'

/** The tools of an operator beside evicting. */
export interface Operations {
  /** Looks for everything that is known to go wrong with locks; takes about as long as `watch` says. */
  doctor(options?: DoctorOptions): Promise<Diagnosis>
  /** Finds what is certainly dead, in small steps; only with `remove` is it removed. */
  reap(options?: ReapOptions): AsyncIterable<ReapedThing>
}

/** Loaded when an operator asks: a program that only locks goes without them. */
export function operationsOf(ward: Ward): Operations {
  return {
    async doctor(options = {}) {
      const { examine } = await import('./examine.ts')
      return examine(ward, options)
    },
    async *reap(options = {}) {
      const { reap } = await import('./reaper.ts')
      yield* reap(ward, options)
    },
  }
}

/** Publishes how long keys are held until it is closed. */
export function recorderOf(locks: Recorded): { close(): Promise<void> } {
  return new Recorder(locks)
}
