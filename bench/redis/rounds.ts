import type { Row } from '../result.ts'
import { median } from '../statistics.ts'
import { BASE } from './catalogue.ts'

/** The findings of a workload. */
export interface Measured {
  readonly rows: readonly Row[]
  readonly overlaps: number
}

/** Rounds of all in turn, each time another one first, so that whatever else the machine does meets them all. */
export async function inTurn<T>(
  subjects: readonly string[],
  { rounds, warmUps }: { readonly rounds: number; readonly warmUps: number },
  measure: (subject: string) => Promise<T>,
): Promise<Map<string, T[]>> {
  const measured = new Map<string, T[]>(subjects.map((subject) => [subject, []]))
  for (let round = 0; round < rounds + warmUps; round++) {
    for (let turn = 0; turn < subjects.length; turn++) {
      const subject = subjects[(round + turn) % subjects.length] as string
      const answer = await measure(subject)
      if (round >= warmUps) measured.get(subject)?.push(answer)
    }
  }
  return measured
}

/** How a subject's rate compares with the raw client's of the same round, in the middle of all rounds. */
export function ratioToBase<T extends { readonly perSecond: number }>(
  measured: ReadonlyMap<string, readonly T[]>,
  subject: string,
): number {
  const base = measured.get(BASE) ?? []
  const own = measured.get(subject) ?? []
  return median(own.map(({ perSecond }, round) => perSecond / (base[round]?.perSecond ?? Number.NaN)))
}
