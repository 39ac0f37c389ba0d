import { type Diagnosis, examine, type Ward } from './examine.ts'
import type { DoctorOptions } from './options.ts'

/** What operators do beside evicting. */
export interface Operations {
  /** Looks for everything that is known to go wrong with locks; takes about as long as `watch` says. */
  doctor(options?: DoctorOptions): Promise<Diagnosis>
}

export function operationsOf(ward: Ward): Operations {
  return {
    doctor: (options = {}) => examine(ward, options),
  }
}
