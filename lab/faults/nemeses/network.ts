import type { TcpProxy } from '../../../scripts/servers/proxy.ts'
import type { Random } from '../../simulation/random.ts'
import type { Crew } from '../crew.ts'
import type { Nemesis, Strike } from '../nemeses.ts'
import { CALL_TIMEOUT_MS, TTL_MS } from '../settings.ts'
import type { Wires } from '../wires.ts'

/** Beyond what a call to a store may take: who has given it up may be overtaken by what comes next. */
const LONGEST_LAG_MS = CALL_TIMEOUT_MS * 1.2
const LASTS_MS = [TTL_MS * 0.2, TTL_MS * 1.6] as const

/** Faults between workers and servers. */
export function networkNemeses(wires: Wires, crew: Crew): Nemesis[] {
  if (wires.servers === 0) return []
  return [
    // Connections are refused and reset.
    faulty(wires, crew, 'network cut', (proxy) => proxy.cut()),
    // Nothing goes through, and all of it arrives in the end.
    faulty(wires, crew, 'network hold', (proxy, random) => {
      if (random.chance(500)) proxy.hold()
      else proxy.hold(random.pick(['requests', 'replies'] as const))
    }),
    // One direction is lost: a partition in one direction.
    faulty(wires, crew, 'network drop', (proxy, random) => proxy.drop(random.pick(['requests', 'replies']))),
    // The connections that are open swallow everything, new ones work: an address that moved, a pooler that hangs.
    faulty(wires, crew, 'network silent', (proxy) => proxy.silence()),
    faulty(wires, crew, 'network delay', (proxy, random) => proxy.delay(random.whole(20, 500))),
    // Connections of one process overtake each other, also those that it has given up.
    faulty(wires, crew, 'network reorder', (proxy, random) =>
      proxy.scatter(() => random.whole(0, LONGEST_LAG_MS)),
    ),
    { ...faulty(wires, crew, 'network reset', (proxy) => proxy.reset()), lastsMs: [0, 0] },
  ]
}

function faulty(
  wires: Wires,
  crew: Crew,
  kind: string,
  spoil: (proxy: TcpProxy, random: Random) => void,
): Nemesis {
  return {
    kind,
    lastsMs: LASTS_MS,
    strike(random): Strike {
      // One worker loses all servers, or all workers lose some of them, or one worker some.
      const place = random.whole(0, crew.size - 1)
      const everyone = random.chance(300)
      const places = everyone ? [...Array(crew.size).keys()] : [place]
      const servers = [...Array(wires.servers).keys()]
      const some =
        wires.servers > 1 && random.chance(500) ? servers.slice(0, random.whole(1, servers.length)) : servers
      const proxies = wires.between(places, some)
      for (const proxy of proxies) spoil(proxy, random)
      const who = everyone ? 'all' : crew.nameOf(place)
      return {
        target: some.length < servers.length ? `${who} to ${some.length} of ${servers.length}` : who,
        heal: () => {
          for (const proxy of proxies) proxy.heal()
        },
      }
    },
  }
}
