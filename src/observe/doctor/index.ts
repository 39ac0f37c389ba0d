import type { Diagnosis, DoctorInput } from './examine.ts'
import type { DoctorOptions } from './options.ts'
import type { ReapedThing, ReapOptions } from './reaper.ts'
import { type Recorded, Recorder } from './recorder.ts'

export type { Diagnosis } from './examine.ts'
export type { Finding, FindingCode, Severity } from './findings.ts'
export type { DoctorOptions } from './options.ts'
export type { ReapedThing, ReapOptions } from './reaper.ts'

/** The tools of an operator beside evicting. */
export interface Operations {
  /** Looks for all known problems of locks; takes about as long as `watch`. */
  doctor(options?: DoctorOptions): Promise<Diagnosis>
  /** Finds leftovers that are certainly dead, in small steps; removes them only with `remove`. */
  reap(options?: ReapOptions): AsyncIterable<ReapedThing>
}

/** Loaded on demand: a program that only locks does not load it. */
export function operationsOf(input: DoctorInput): Operations {
  return {
    async doctor(options = {}) {
      const { examine } = await import('./examine.ts')
      return examine(input, options)
    },
    async *reap(options = {}) {
      const { reap } = await import('./reaper.ts')
      yield* reap(input, options)
    },
  }
}

/** Publishes how long keys are held, until it is closed. */
export function recorderOf(locks: Recorded): { close(): Promise<void> } {
  return new Recorder(locks)
}
