export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** The value below which that part of the values lies; NaN when there are none. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

/** Jain's index: 1 when all got the same, 1/n when one got everything. */
export function fairness(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0)
  const squares = shares.reduce((total, share) => total + share * share, 0)
  return squares === 0 ? Number.NaN : (sum * sum) / (shares.length * squares)
}
