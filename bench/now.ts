/** The machine's monotonic clock, which all processes share; as a number it is exact for some hundred days of uptime. */
export function nowNs(): number {
  return Number(process.hrtime.bigint())
}
