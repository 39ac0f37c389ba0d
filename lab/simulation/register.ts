import type { Fail } from './violation.ts'
import type { Sighting } from './witness.ts'
import type { World } from './world.ts'

interface Value {
  token: bigint
  rank: number
  writer: string
}

/** A resource that checks tokens: it takes a write unless it has already seen a higher token. */
export class Register {
  accepted = 0
  refused = 0
  private readonly world: World
  private readonly fail: Fail
  private readonly values = new Map<string, Value>()

  constructor(world: World, fail: Fail) {
    this.world = world
    this.fail = fail
  }

  write({ key, client, rank, lease }: Pick<Sighting, 'key' | 'client' | 'rank' | 'lease'>): void {
    const token = lease.token ?? 0n
    const value = this.values.get(key)
    this.world.mixToken(token)
    if (value !== undefined && token < value.token) {
      this.refused++
      return
    }
    this.accepted++
    if (value !== undefined && rank !== null && rank < value.rank) {
      this.fail(
        'register went back',
        `${key}: a write of ${client} (holder ${rank}, token ${token}) was accepted after one of ${value.writer} (holder ${value.rank}, token ${value.token})`,
      )
    }
    this.values.set(key, { token, rank: rank ?? value?.rank ?? 0, writer: client })
  }
}
