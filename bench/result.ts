/** One line of a table: what one subject did in one workload. */
export interface Row {
  readonly workload: string
  readonly subject: string
  /** Named figures, in the order of the columns. */
  readonly figures: Readonly<Record<string, number>>
}

/** A target, and the value that was measured. */
export interface Target {
  readonly what: string
  readonly value: number
  readonly bound: { readonly atLeast: number } | { readonly atMost: number }
}

export interface Result {
  readonly rows: readonly Row[]
  readonly targets: readonly Target[]
  /** How often two were inside at once; anything but 0 makes every figure worthless. */
  readonly overlaps: number
  /** Notes that a reader of the figures needs: the workload and its settings. */
  readonly notes?: readonly string[]
  /** Of what only this benchmark needs: servers and other libraries. */
  readonly versions?: Readonly<Record<string, string>>
}

/** How much of everything a run does: `tiny` only shows that it works. */
export type Size = 'full' | 'tiny'

export function isMet({ value, bound }: Target): boolean {
  return 'atLeast' in bound ? value >= bound.atLeast : value <= bound.atMost
}

/** How a program of a benchmark hands its result to whoever started it: the last line that it prints. */
export function emit(result: Result): void {
  console.log(JSON.stringify(result))
}
