import { checkFlag, checkOptions, type NamesOf } from '../../core/check.ts'
import { type Duration, durationMs } from '../../core/durations.ts'
import type { Remains } from '../../core/facts.ts'
import { InvalidArgumentError, UnsupportedError } from '../../errors.ts'
import type { DoctorInput } from './examine.ts'
import { DEAD_FOR_MS, patternsOf } from './options.ts'

export interface ReapOptions {
  /** Also keys of other programs without an expiry: names with `*` for any text. Needs `older`. */
  foreign?: readonly string[]
  /** Only foreign keys that were not used for so long. 0 takes them at any age, if they do not change meanwhile. */
  older?: Duration
  /** Keeps leftovers that have been dead for less than this: 1 h by default. */
  deadFor?: Duration
  /** Removes them; by default they are only listed. */
  remove?: boolean
}

/** One leftover, and what happened to it. */
export interface ReapedThing {
  readonly kind: 'foreign' | 'orphan'
  readonly name: string
  readonly what: string
  readonly count: number
  readonly idleMs: number | null
  /** `found`: it would be removed. `kept`: it was used meanwhile, or the time of its last use is unknown. */
  readonly outcome: 'found' | 'removed' | 'kept'
}

const OPTIONS: NamesOf<ReapOptions> = { foreign: true, older: true, deadFor: true, remove: true }
const LONGEST_MS = 365 * 86_400_000
const AT_ONCE = 20
/** The most leftovers of one call; call again for more. */
const MOST = 10_000

/** Finds leftovers that are certainly dead and optionally removes them in small steps, each of which compares first. */
export async function* reap(input: DoctorInput, options: ReapOptions): AsyncIterable<ReapedThing> {
  const { admin, traits } = input
  checkOptions('options', options, OPTIONS)
  const foreign = patternsOf(options.foreign ?? [])
  const olderMs = olderOf(foreign, options.older)
  const deadForMs = durationMs('deadFor', options.deadFor ?? DEAD_FOR_MS, { minMs: 0, maxMs: LONGEST_MS })
  const remove = checkFlag('remove', options.remove, false)
  if (admin.inspect === undefined || admin.reap === undefined)
    throw new UnsupportedError(`the ${traits.name} store keeps nothing that has to be reaped`)
  const dead: Remains[] = []
  for await (const fact of admin.inspect({ foreign, deadForMs, values: olderMs === 0 })) {
    if (fact.kind === 'orphan' || (fact.kind === 'foreign' && (fact.idleMs ?? olderMs) >= olderMs))
      dead.push(fact)
    if (dead.length >= MOST) break
  }
  for (let first = 0; first < dead.length; first += AT_ONCE) {
    const some = dead.slice(first, first + AT_ONCE)
    const known = some.filter((each) => isKnown(each, olderMs))
    const done = remove ? await admin.reap(known, olderMs) : null
    for (const each of some) {
      const at = known.indexOf(each)
      const outcome = at === -1 ? 'kept' : done === null ? 'found' : done[at] === true ? 'removed' : 'kept'
      const { kind, name, what, count, idleMs } = each
      yield { kind, name, what, count, idleMs, outcome }
    }
  }
}

/** Where the server does not know the time of the last use, only keys of any age can be asked for. */
function isKnown({ kind, idleMs }: Remains, olderMs: number): boolean {
  return kind === 'orphan' || idleMs !== null || olderMs === 0
}

function olderOf(foreign: readonly string[], older: Duration | undefined): number {
  if (foreign.length > 0 && older === undefined)
    throw new InvalidArgumentError(
      'older',
      'must be given with `foreign`: how long nobody may have used a key',
    )
  return durationMs('older', older ?? 0, { minMs: 0, maxMs: LONGEST_MS })
}
