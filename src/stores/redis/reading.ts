import type { Scripting } from './scripting.ts'
import { isPartial, joined, type RawState, SHOWN_PER_CALL } from './state.ts'

/** What a look at some locks shows; null for a format that is not known. */
export interface Look {
  readonly stampUs: number
  readonly states: readonly (RawState | null)[]
}

/** Looks at locks without counting the time that passed. A crowd is read in parts, so that the server is never held up. */
export async function lookAt(scripting: Scripting, names: readonly string[]): Promise<Look> {
  const { stampUs, states } = await readOnce(scripting, names, 0)
  const whole = states.map(async (state, place) =>
    state === null ? null : readOn(scripting, names[place] as string, state),
  )
  return { stampUs, states: await Promise.all(whole) }
}

async function readOn(scripting: Scripting, name: string, first: RawState): Promise<RawState> {
  let [whole, last] = [first, first]
  for (let from = SHOWN_PER_CALL; isPartial(last); from += SHOWN_PER_CALL) {
    const [next] = (await readOnce(scripting, [name], from)).states
    if (next === undefined || next === null) break
    last = next
    whole = joined(whole, next)
  }
  return whole
}

async function readOnce(scripting: Scripting, names: readonly string[], from: number): Promise<Look> {
  const args = [String(SHOWN_PER_CALL), String(from)]
  const [stamp, ...states] = (await scripting.run('read', names, args)) as [unknown, ...unknown[]]
  return {
    stampUs: Number(stamp),
    states: states.map((raw) => (Array.isArray(raw) ? (raw as unknown as RawState) : null)),
  }
}
