import { StaleTokenError } from '../../../src/index.ts'
import { type Guard, memoryGuard } from '../../../src/recipes/guard/index.ts'

/** The stock: a number that everybody reads, works on, and writes back. It checks tokens where there are any. */
export class Warehouse {
  readonly begunWith: number
  /** Writes that were accepted: units that buyers were promised. */
  sold = 0
  refused = 0
  private units: number
  private readonly guard: Guard = memoryGuard()

  constructor(units: number) {
    this.begunWith = units
    this.units = units
  }

  get left(): number {
    return this.units
  }

  /** Reading raises the fence as well: an older holder must not write after a newer one has read. */
  read(token: string | null): number {
    if (token !== null) this.guard.check('stock', BigInt(token))
    return this.units
  }

  /** True if the write was accepted. */
  write(left: number, token: string | null): boolean {
    try {
      if (token !== null) this.guard.check('stock', BigInt(token))
    } catch (error) {
      if (!(error instanceof StaleTokenError)) throw error
      this.refused++
      return false
    }
    this.units = left
    this.sold++
    return true
  }
}
