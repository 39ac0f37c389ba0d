/** The candidate closest to a mistyped word, or undefined if none is close. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const closest = candidates
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .sort((one, other) => one.distance - other.distance)[0]
  return closest !== undefined && closest.distance <= Math.max(1, Math.floor(word.length / 3))
    ? closest.candidate
    : undefined
}

/** The number of letters left out, added, replaced or swapped with their neighbour. */
function editDistance(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, column) => column)]
  for (let line = 1; line <= from.length; line++) {
    const row = [line]
    for (let column = 1; column <= to.length; column++) {
      const above = rows[line - 1]!
      const replaced = above[column - 1]! + (from[line - 1] === to[column - 1] ? 0 : 1)
      const swapped =
        line > 1 && column > 1 && from[line - 1] === to[column - 2] && from[line - 2] === to[column - 1]
          ? rows[line - 2]![column - 2]! + 1
          : Number.POSITIVE_INFINITY
      row.push(Math.min(replaced, swapped, above[column]! + 1, row[column - 1]! + 1))
    }
    rows.push(row)
  }
  return rows[from.length]![to.length]!
}
