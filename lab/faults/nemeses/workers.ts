import type { Random } from '../../simulation/random.ts'
import type { Crew } from '../crew.ts'
import type { Nemesis } from '../nemeses.ts'
import { TTL_MS } from '../settings.ts'

/** Faults of the processes that hold and want keys. */
export function workerNemeses(crew: Crew): Nemesis[] {
  const pick = (random: Random): number => random.whole(0, crew.size - 1)
  return [
    {
      kind: 'worker kill',
      lastsMs: [0, 0],
      strike(random) {
        const place = pick(random)
        crew.kill(place)
        return { target: crew.nameOf(place), heal: () => {} }
      },
    },
    {
      kind: 'worker pause',
      lastsMs: [TTL_MS * 0.3, TTL_MS * 1.6],
      strike(random) {
        const place = pick(random)
        crew.pause(place)
        return { target: crew.nameOf(place), heal: () => crew.resume(place) }
      },
    },
    {
      kind: 'worker block',
      lastsMs: [TTL_MS * 0.3, TTL_MS * 1.6],
      strike(random, lastsMs) {
        const place = pick(random)
        crew.block(place, lastsMs)
        return { target: crew.nameOf(place), heal: () => {} }
      },
    },
  ]
}
