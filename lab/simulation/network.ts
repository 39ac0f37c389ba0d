import { CALM, type Direction, type LinkFaults, type Parcel } from './plan.ts'
import { Random } from './random.ts'
import type { World } from './world.ts'

type Targeted = {
  readonly parcel: Parcel
  readonly act: 'lose' | 'hold' | 'again' | 'reset'
  readonly forMs: number
}

/** One direction between a client and the store. Its chance is its own, so a link left out changes no other. */
class Link {
  readonly random: Random
  cutUntilUs = 0
  clogUntilUs = 0
  readonly targeted: Targeted[] = []

  constructor(random: Random) {
    this.random = random
  }
}

const CODES: Record<Parcel, number> = {
  attempt: 1,
  renew: 2,
  release: 3,
  admin: 4,
  reply: 5,
  notice: 6,
  write: 7,
}

/** Messages that are late, lost, doubled, overtaken, cut off or clogged. */
export class Network {
  lost = 0
  doubled = 0
  private readonly world: World
  private readonly seed: number
  private readonly links = new Map<string, Link>()
  private linkFaults: LinkFaults
  private readonly calmFaults: LinkFaults
  private stormUntilUs = 0

  constructor(world: World, seed: number, linkFaults: LinkFaults) {
    this.world = world
    this.seed = seed
    this.linkFaults = linkFaults
    this.calmFaults = linkFaults
  }

  /** `quiet` says that delivery runs no client's code. `onReset` hears of a connection that breaks behind the parcel. */
  send(
    client: string,
    direction: 'up' | 'down',
    parcel: Parcel,
    deliver: () => void,
    quiet: boolean,
    onReset?: () => void,
  ): void {
    const { nowUs } = this.world
    const link = this.link(client, direction)
    const linkFaults = nowUs < this.stormUntilUs ? this.linkFaults : this.calmFaults
    const act = this.takeTargeted(link, parcel)
    // Drawn in every case, so that a fault taken out of a plan leaves the chance of later messages as it was.
    const lost = link.random.chance(linkFaults.lossPerMille)
    const twice = link.random.chance(linkFaults.twicePerMille)
    const delayUs = this.delayUs(link, linkFaults)
    const secondDelayUs = twice ? delayUs + link.random.whole(0, 2_500_000) : 0
    this.world.mix(nowUs)
    this.world.mix(CODES[parcel])
    if (lost || act?.act === 'lose' || nowUs < link.cutUntilUs) {
      this.lost++
      this.world.note(client, `${parcel} ${direction} lost`)
      return
    }
    if (act?.act === 'reset' && onReset !== undefined) this.world.schedule(nowUs + delayUs, onReset, false)
    const heldUs = act?.act === 'hold' || act?.act === 'reset' ? act.forMs * 1000 : 0
    const arrivesUs = Math.max(nowUs, link.clogUntilUs) + delayUs + heldUs
    this.world.schedule(arrivesUs, deliver, quiet)
    if (twice) this.again(client, parcel, arrivesUs + secondDelayUs, deliver, quiet)
    if (act?.act === 'again') this.again(client, parcel, nowUs + act.forMs * 1000, deliver, quiet)
  }

  cut(client: string, direction: Direction, untilUs: number): void {
    for (const link of this.both(client, direction)) link.cutUntilUs = Math.max(link.cutUntilUs, untilUs)
  }

  clog(client: string, direction: Direction, untilUs: number): void {
    for (const link of this.both(client, direction)) link.clogUntilUs = Math.max(link.clogUntilUs, untilUs)
  }

  target(client: string, parcel: Parcel, act: Targeted['act'], forMs: number): void {
    const direction = parcel === 'reply' || parcel === 'notice' ? 'down' : 'up'
    this.link(client, direction).targeted.push({ parcel, act, forMs })
  }

  storm(linkFaults: LinkFaults, untilUs: number): void {
    this.linkFaults = linkFaults
    this.stormUntilUs = untilUs
  }

  heal(): void {
    this.storm(CALM, Number.POSITIVE_INFINITY)
    for (const link of this.links.values()) {
      link.cutUntilUs = 0
      link.clogUntilUs = 0
      link.targeted.length = 0
    }
  }

  private again(client: string, parcel: Parcel, atUs: number, deliver: () => void, quiet: boolean): void {
    this.doubled++
    this.world.note(client, `${parcel} will come a second time at ${Math.round(atUs / 1000)} ms`)
    this.world.schedule(atUs, deliver, quiet)
  }

  private delayUs({ random }: Link, linkFaults: LinkFaults): number {
    if (random.chance(linkFaults.tailPerMille)) return random.whole(6_000, linkFaults.tailMs * 1000)
    return random.whole(300, random.chance(300) ? 6_000 : 1_500)
  }

  private takeTargeted({ targeted }: Link, parcel: Parcel): Targeted | undefined {
    const place = targeted.findIndex((each) => each.parcel === parcel)
    return place < 0 ? undefined : targeted.splice(place, 1)[0]
  }

  private both(client: string, direction: Direction): Link[] {
    return (direction === 'both' ? (['up', 'down'] as const) : [direction]).map((each) =>
      this.link(client, each),
    )
  }

  private link(client: string, direction: 'up' | 'down'): Link {
    const name = `${client} ${direction}`
    let link = this.links.get(name)
    if (link === undefined) {
      link = new Link(new Random(this.seed, name))
      this.links.set(name, link)
    }
    return link
  }
}
