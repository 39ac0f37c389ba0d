const BUSY = 5
const PROTOCOL = 15

/** True if another process had the database, so that nothing was done. */
export function isBusy(error: unknown): boolean {
  const code = resultCodeOf(error)
  // The package's `all` gives no code.
  return (
    code === BUSY ||
    code === PROTOCOL ||
    (code === null && /^database is locked/.test((error as Error)?.message))
  )
}

/** SQLite's primary result code, null for an error of another kind. */
export function resultCodeOf(error: unknown): number | null {
  const code = (error as { errcode?: unknown } | null)?.errcode
  return typeof code === 'number' ? code & 0xff : null
}

/** A wait on it lasts until its timeout. */
const NEVER = new Int32Array(new SharedArrayBuffer(4))

/** Blocks the whole process with its event loop: only for less time than a turn of the loop takes, or for rare waits. */
export function blockFor(ms: number): void {
  Atomics.wait(NEVER, 0, 0, ms)
}
