/** The machine's monotonic clock, on which the events of all processes can be put in order. */
export function nowMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000
}
