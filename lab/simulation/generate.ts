import { faultsOf } from './faults.ts'
import { KEYS, POOL_LIMIT } from './finale.ts'
import type { Ask, ClientPlan, Plan, Step, Take, Twist } from './plan.ts'
import { Random } from './random.ts'

const HEAL_AT_MS = 50_000
const END_AT_MS = 60_000
const DAY_MS = 86_400_000
/** Clocks differ from true time by at most this, which is within the margin that the core subtracts. */
const MOST_SKEW_PPM = 4000

interface Style {
  readonly random: Random
  readonly ttlMs: number
  readonly clients: number
  readonly reenters: boolean
  readonly twistPerMille: number
  readonly writerPerMille: number
  /** How often each key is asked for. */
  readonly keys: Record<keyof typeof KEYS, number>
}

/** Once async contexts are tracked, every promise of the thread costs more: only some seeds do, and they come last. */
export function reenters(seed: number): boolean {
  return seed % 20 === 0
}

/** Writes the plan of a seed: who does what, and what goes wrong when. */
export function generate(seed: number): Plan {
  const random = new Random(seed, 'plan')
  const ttlMs = random.pick([1000, 1500, 2000, 3000])
  const clients = random.whole(3, 5)
  const keys = {
    hot: random.pick([2, 8, 16]),
    warm: random.pick([0, 2]),
    cold: 1,
    book: random.pick([0, 3, 20]),
    pool: random.pick([0, 0, 3, 8]),
  }
  const style: Style = {
    random,
    ttlMs,
    clients,
    reenters: reenters(seed),
    twistPerMille: random.pick([50, 150, 400]),
    writerPerMille: random.pick([250, 600]),
    keys,
  }
  const longestTtlMs = ttlMs * 2
  const callTimeoutMs = random.pick([400, 1000, 2500, 5000])
  const lockDelayMs = random.chance(150) ? random.whole(50, 800) : 0
  const network = random.pick([0, 20, 20, 60])
  const faults = faultsOf(new Random(seed, 'faults'), clients, ttlMs, longestTtlMs + lockDelayMs, HEAL_AT_MS)
  const goesBack = faults.some((fault) => fault.kind === 'jump' && fault.byMs < 0)
  return {
    seed,
    healAtMs: HEAL_AT_MS,
    endAtMs: END_AT_MS,
    longestTtlMs,
    callTimeoutMs,
    boundMs: longestTtlMs * 3 + callTimeoutMs + lockDelayMs * 3 + 4000,
    server: {
      skewPpm: random.whole(-MOST_SKEW_PPM, MOST_SKEW_PPM),
      ticks: random.chance(700),
      offerMs: 1000,
      // A clock that goes back is harmless only while the last token is remembered.
      keepSeqMs: goesBack ? DAY_MS : random.pick([DAY_MS, 2000]),
    },
    linkFaults: {
      lossPerMille: network,
      twicePerMille: network,
      tailPerMille: random.pick([10, 50, 100]),
      tailMs: random.pick([50, 400, 400, ttlMs + 300]),
    },
    clients: Array.from({ length: clients }, (_, index) => clientOf(style, index, lockDelayMs)),
    faults,
  }
}

function clientOf(style: Style, index: number, lockDelayMs: number): ClientPlan {
  const { random, ttlMs } = style
  const fibers = random.whole(1, 3)
  return {
    name: `c${index + 1}`,
    skewPpm: random.whole(-MOST_SKEW_PPM, MOST_SKEW_PPM),
    ttlMs,
    handover: !random.chance(150),
    lockDelayMs,
    fibers: Array.from({ length: fibers }, () => stepsOf(style, index)),
  }
}

/** About as many steps as fit into the time before the healing. */
function stepsOf(style: Style, client: number): Step[] {
  const { random } = style
  const steps: Step[] = []
  const pace = random.pick([200, 600, 1500])
  for (let spentMs = 0; spentMs < HEAL_AT_MS; spentMs += pace + 400) {
    const thinkMs = random.chance(400) ? 0 : random.whole(0, pace * 2)
    steps.push(stepOf(style, client, thinkMs))
  }
  return steps
}

function stepOf(style: Style, client: number, thinkMs: number): Step {
  const { random } = style
  const kind = random.weighted({ take: 960, takeAll: 25, evict: 8, reopen: 8 })
  switch (kind) {
    case 'takeAll':
      return { kind, thinkMs, keys: [KEYS.warm, KEYS.hot], waitMs: 2000, holdMs: 20 }
    case 'evict':
      return { kind, thinkMs, key: random.pick(Object.values(KEYS)) }
    case 'reopen':
      return { kind, thinkMs }
    case 'take':
      return takeOf(style, client, thinkMs)
  }
}

function takeOf(style: Style, client: number, thinkMs: number): Take {
  const { random, ttlMs } = style
  const key = KEYS[random.weighted(style.keys)]
  const ask = askOf(style, key)
  const owner =
    ask.kind === 'mutex' && key !== KEYS.hot && random.chance(150) ? random.pick(['ann', 'bob']) : null
  const holdMs = holdOf(random, ttlMs)
  const way = random.weighted({ using: 5, acquire: 4, try: 2 })
  const impatient = random.chance(300)
  return {
    kind: 'take',
    thinkMs,
    key,
    ask,
    way,
    ttlMs: random.chance(100) ? ttlMs + random.whole(1, 500) : ttlMs,
    waitMs: impatient ? random.whole(20, 800) : random.chance(100) ? null : random.whole(2000, 12_000),
    holdMs,
    renew: !random.chance(250),
    maxHoldMs: random.chance(50) ? random.whole(1, ttlMs * 2) : null,
    // A spinning claim has no position, so readers may overtake a spinning writer for ever.
    spinMs: ask.kind !== 'write' && random.chance(50) ? random.whole(20, 200) : null,
    background: random.chance(100),
    owner,
    cancelAfterMs: random.chance(60) ? random.whole(1, 1500) : null,
    obeys: random.chance(700),
    writes: ask.kind === 'read' || ask.kind === 'permits' ? 0 : random.whole(0, 2),
    twist: random.chance(style.twistPerMille)
      ? twistOf(style, client, ask, way, holdMs, owner)
      : { kind: 'none' },
  }
}

function askOf({ random, writerPerMille }: Style, key: string): Ask {
  if (key === KEYS.book) return { kind: random.chance(writerPerMille) ? 'write' : 'read' }
  if (key === KEYS.pool) return { kind: 'permits', limit: POOL_LIMIT, weight: random.pick([1, 1, 1, 2, 3]) }
  return { kind: 'mutex' }
}

/** Mostly short, sometimes as long as the lease, sometimes longer. */
function holdOf(random: Random, ttlMs: number): number {
  const length = random.weighted({ none: 2, short: 5, middle: 3, long: 2 })
  const longestMs = { none: 1, short: 60, middle: ttlMs / 2, long: ttlMs * 1.5 }[length]
  return random.whole(0, Math.floor(longestMs))
}

function twistOf(
  style: Style,
  client: number,
  ask: Ask,
  way: Take['way'],
  holdMs: number,
  owner: string | null,
): Twist {
  const { random, ttlMs, clients } = style
  const afterMs = random.whole(0, holdMs)
  const kinds: Record<Exclude<Twist['kind'], 'none'>, number> = {
    extend: 2,
    downgrade: ask.kind === 'write' ? 4 : 0,
    give: ask.kind === 'mutex' && owner === null && way !== 'using' ? 2 : 0,
    reenter: style.reenters && ask.kind === 'mutex' && owner === null && way === 'using' ? 6 : 0,
    throw: 1,
    releaseTwice: way === 'using' ? 0 : 2,
  }
  const kind = random.weighted(kinds)
  switch (kind) {
    case 'extend':
      return { kind, afterMs, ttlMs: random.whole(Math.floor(ttlMs / 2), ttlMs * 2) }
    case 'downgrade':
      return { kind, afterMs }
    case 'give':
      return { kind, afterMs, to: (client + random.whole(1, clients - 1)) % clients }
    case 'releaseTwice':
      return { kind, afterMs: random.whole(0, 300) }
    default:
      return { kind }
  }
}
