import type { Direction, Fault, Parcel } from '../plan.ts'
import type { Random } from '../random.ts'

const FEWEST_FAULTS = 14
const MOST_FAULTS = 26
const PARCELS: readonly Parcel[] = [
  'attempt',
  'attempt',
  'renew',
  'release',
  'release',
  'reply',
  'reply',
  'notice',
]
const DIRECTIONS: readonly Direction[] = ['up', 'down', 'both', 'both']

/** Faults of clients, of nodes, and of the ways between them; all of them are over when the healing comes. */
export function quorumFaultsOf(
  random: Random,
  clients: number,
  nodes: number,
  ttlMs: number,
  longestLifeMs: number,
  healAtMs: number,
): Fault[] {
  const count = random.whole(FEWEST_FAULTS, MOST_FAULTS)
  const times = Array.from({ length: count }, () => random.whole(300, healAtMs - 1000)).sort((a, b) => a - b)
  // Clocks that stand far apart, and then a memory that is lost, can bring an old token back: that is not promised.
  const losesMemory = random.chance(400)
  return times.map((atMs): Fault => {
    const leftMs = healAtMs - atMs
    const client = random.whole(0, clients - 1)
    const node = random.whole(0, nodes - 1)
    const where = random.chance(800) ? { node } : {}
    const forMs = Math.min(
      Math.round(ttlMs * random.pick([0.05, 0.3, 0.6, 1.2, 1.2, 2])) + random.whole(0, 300),
      leftMs,
    )
    const kind = random.weighted({
      pause: 4,
      kill: 1.5,
      cut: 5,
      clog: 3,
      lose: 4,
      hold: 5,
      again: 4,
      storm: 1,
      crash: 5,
      freeze: 4,
      jump: losesMemory ? 0 : 1,
      clientJump: 0.5,
    })
    switch (kind) {
      case 'pause':
        return { atMs, kind, client, forMs }
      case 'kill':
        return { atMs, kind, client, restartAfterMs: forMs }
      case 'cut':
      case 'clog':
        return { atMs, kind, client, ...where, direction: random.pick(DIRECTIONS), forMs }
      case 'lose':
        return { atMs, kind, client, ...where, parcel: random.pick(PARCELS) }
      case 'hold':
        return { atMs, kind, client, ...where, parcel: random.pick(PARCELS), forMs }
      case 'again':
        return { atMs, kind, client, ...where, parcel: random.pick(PARCELS), afterMs: forMs }
      case 'storm':
        return {
          atMs,
          kind,
          forMs,
          linkFaults: { lossPerMille: 150, twicePerMille: 150, tailPerMille: 300, tailMs: 400 },
        }
      case 'crash': {
        const loss = losesMemory && random.chance(500) && leftMs > longestLifeMs + 200
        // The delayed restart: what a node voted for before the loss has run out when it votes again.
        return { atMs, kind, node, loss, forMs: loss ? longestLifeMs + 200 : forMs }
      }
      case 'freeze':
        return { atMs, kind, node, forMs }
      case 'jump':
        return { atMs, kind, node, byMs: random.whole(-600_000, 600_000) }
      default:
        return { atMs, kind, client, byMs: random.whole(-600_000, 600_000) }
    }
  })
}
