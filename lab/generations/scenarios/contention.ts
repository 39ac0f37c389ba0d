import type { Plot } from '../figures.ts'
import { type Measured, measure } from '../optimism/measure.ts'
import { METHODS } from '../optimism/methods.ts'
import { type Assertion, claim, type Scenario } from '../scenario.ts'

const CLIENTS = [1, 2, 4, 8, 16] as const
const MOST = 16

/** Trying and starting again, against waiting for one's turn. */
export const CONTENTION: Scenario = {
  name: 'contention',
  group: 'contention',
  title: 'WATCH against locking, while more and more clients want the same key',
  about:
    'Each client reads a number, thinks for two milliseconds and writes it back, plus one. WATCH begins again when another was faster; SET NX asks again until the lock is free; Holdfast waits in line; a script needs no thinking time outside of the server.',
  async run(stage) {
    const all: Measured[] = []
    for (const clients of CLIENTS)
      for (const method of METHODS) all.push(await measure(method, clients, stage))
    const shape = { kind: 'plot', across: 'clients', places: CLIENTS } as const
    const wasted: Plot = {
      ...shape,
      title: 'Tries that came to nothing',
      up: 'for each success',
      lines: linesOf(all, (one) => one.wasted),
    }
    const rates: Plot = {
      ...shape,
      title: 'Successful updates with thinking time',
      up: 'per second',
      // The script has no thinking time, so its rate is another matter.
      lines: linesOf(all, (one) => one.perSecond).filter(({ name }) => name !== 'script'),
    }
    return {
      figures: [wasted, rates],
      claims: claimsOf(all),
      verdict:
        'Optimism is right while conflicts are rare: it costs nothing then. The more clients want one key, the more of their work is thrown away, and a line is better. What fits into one script needs neither.',
      data: { measured: all },
    }
  },
}

/** Only what was measured everywhere is a line. */
function linesOf(all: readonly Measured[], value: (one: Measured) => number | null): Plot['lines'] {
  return METHODS.flatMap(({ name }) => {
    const values = all.filter(({ method }) => method === name).map(value)
    return values.includes(null) ? [] : [{ name, values: values as number[] }]
  })
}

function claimsOf(all: readonly Measured[]): Assertion[] {
  const wastedBy = (name: string, clients: number): number | null =>
    all.find((one) => one.method === name && one.clients === clients)?.wasted ?? null
  const crowded = wastedBy('WATCH', MOST) ?? 0
  const surplus = wastedBy('Holdfast', MOST)
  const exact = all.every((one) => one.exact)
  return [
    claim(exact, 'no update was lost, by any method'),
    claim(wastedBy('WATCH', 1) === 0, 'a client alone never has to begin again'),
    claim(crowded > 1, `with ${MOST} clients WATCH threw ${crowded.toFixed(1)} tries away for each success`),
    // Where Holdfast runs over a file, nobody counts what it sends.
    ...(surplus === null
      ? []
      : [
          claim(
            surplus < 1,
            `Holdfast sent ${surplus.toFixed(2)} scripts more than two for each success: who waits in line does not ask again`,
          ),
        ]),
  ]
}
