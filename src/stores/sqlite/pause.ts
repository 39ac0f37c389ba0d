/** Never woken: to wait on it is to sleep. */
const NOTHING = new Int32Array(new SharedArrayBuffer(4))

/** Blocks the whole process, event loop and all: only for what takes less time than a turn of the loop, or is rare. */
export function pause(ms: number): void {
  Atomics.wait(NOTHING, 0, 0, ms)
}
