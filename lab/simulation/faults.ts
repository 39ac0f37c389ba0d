import type { Call, Direction, Fault, Parcel } from './plan.ts'
import type { Random } from './random.ts'

export const FEWEST_FAULTS = 20
const MOST_FAULTS = 34
/** A shorter one is not noticed, as the guarantees say. */
const SHORTEST_SLEEP_MS = 300
const PARCELS: readonly Parcel[] = ['attempt', 'renew', 'release', 'reply', 'notice', 'write']
const CALLS: readonly Call[] = ['attempt', 'renew', 'release']
const DIRECTIONS: readonly Direction[] = ['up', 'down', 'both', 'both']

/** Faults between the first second and the healing, in the order of time; all of them are over when it comes. */
export function faultsOf(
  random: Random,
  clients: number,
  ttlMs: number,
  longestLifeMs: number,
  healAtMs: number,
): Fault[] {
  const count = random.whole(FEWEST_FAULTS, MOST_FAULTS)
  const times = Array.from({ length: count }, () => random.whole(500, healAtMs - 1000)).sort((a, b) => a - b)
  // A clock that went back, and then a memory that is lost, can bring an old token back: that is not promised.
  const losesMemory = random.chance(400)
  // A wall clock that is set back hides a sleep: that is not promised either.
  const sleeps = random.chance(500)
  let ahead = 0
  return times.map((atMs): Fault => {
    const leftMs = healAtMs - atMs
    const client = random.whole(0, clients - 1)
    // Long enough to cost a lease, about as often as not.
    const forMs = Math.min(
      Math.round(ttlMs * random.pick([0.05, 0.3, 0.6, 1.2, 1.2, 2])) + random.whole(0, 300),
      leftMs,
    )
    const kind = random.weighted({
      pause: 5,
      sleep: sleeps ? 2 : 0,
      kill: 2,
      cut: 3,
      clog: 2,
      lose: 2,
      hold: 3,
      again: 3,
      reset: 2,
      storm: 1,
      crash: 1.5,
      freeze: 1,
      full: 1,
      doubt: 2,
      jump: 1,
      clientJump: 0.5,
    })
    switch (kind) {
      case 'pause':
      case 'kill':
        return kind === 'pause'
          ? { atMs, kind, client, forMs }
          : { atMs, kind, client, restartAfterMs: forMs }
      case 'sleep':
        return { atMs, kind, client, forMs: Math.min(forMs + SHORTEST_SLEEP_MS, leftMs) }
      case 'cut':
      case 'clog':
        return { atMs, kind, client, direction: random.pick(DIRECTIONS), forMs }
      case 'lose':
        return { atMs, kind, client, parcel: random.pick(PARCELS) }
      case 'hold':
        return { atMs, kind, client, parcel: random.pick(PARCELS), forMs }
      case 'again':
        return { atMs, kind, client, parcel: random.pick(PARCELS), afterMs: forMs }
      case 'reset':
        return { atMs, kind, client, parcel: random.pick(CALLS), forMs }
      case 'doubt':
        return {
          atMs,
          kind,
          call: random.pick(CALLS),
          member: random.whole(0, 5),
          done: random.chance(500),
        }
      case 'full':
        return { atMs, kind, forMs: Math.min(forMs * 2, leftMs) }
      case 'storm':
        return {
          atMs,
          kind,
          forMs,
          linkFaults: { lossPerMille: 250, twicePerMille: 250, tailPerMille: 300, tailMs: 400 },
        }
      case 'crash': {
        const loss = losesMemory && random.chance(600) && leftMs > longestLifeMs + 200
        // Grants from before the loss must have run out before anything is granted again.
        return { atMs, kind, loss, forMs: loss ? longestLifeMs + 200 : forMs }
      }
      case 'freeze':
        return { atMs, kind, forMs: Math.min(forMs, 1500) }
      case 'jump': {
        const byMs = losesMemory ? random.whole(1, 600_000) : random.whole(-ahead, 600_000)
        ahead += byMs
        return { atMs, kind, byMs }
      }
      default:
        return { atMs, kind, client, byMs: random.whole(sleeps ? 0 : -600_000, 600_000) }
    }
  })
}
