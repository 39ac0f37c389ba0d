/** More than that are forgotten together: to be wrong costs one refused request. */
const MOST = 1000

/** Keys that others waited for when we let go of them. */
export class Crowds {
  private readonly keyPaths = new Set<string>()

  meet(keyPath: string): void {
    if (this.keyPaths.size >= MOST) this.keyPaths.clear()
    this.keyPaths.add(keyPath)
  }

  /** Whether others were there; who asks again has to meet them again. */
  leave(keyPath: string): boolean {
    return this.keyPaths.delete(keyPath)
  }
}
