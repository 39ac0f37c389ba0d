import type { WatchEvent } from './protocol.ts'

export type WatchCallback = (event: WatchEvent) => void

export type WatchedPart = 'data' | 'children'

const PARTS: readonly WatchedPart[] = ['data', 'children']
/** A server limits the size of a packet, also of one that restores watches. */
const CHARACTERS_PER_PACKET = 100_000

/** The watchers of a session. Each is called once. */
export class Watches {
  private readonly watchers: Record<WatchedPart, Map<string, Set<WatchCallback>>> = {
    data: new Map(),
    children: new Map(),
  }

  get size(): number {
    return PARTS.reduce((sum, part) => sum + this.watchers[part].size, 0)
  }

  add(part: WatchedPart, path: string, watcher: WatchCallback): void {
    const known = this.watchers[part].get(path)
    if (known === undefined) this.watchers[part].set(path, new Set([watcher]))
    else known.add(watcher)
  }

  tell(event: WatchEvent): void {
    for (const part of partsOf(event)) {
      const told = this.watchers[part].get(event.path)
      this.watchers[part].delete(event.path)
      for (const watcher of told ?? []) watcher(event)
    }
  }

  /** The paths to watch on the next server, in portions that fit a packet. */
  *portions(): Iterable<Record<WatchedPart, readonly string[]>> {
    let portion: Record<WatchedPart, string[]> = { data: [], children: [] }
    let characters = 0
    for (const part of PARTS) {
      for (const path of this.watchers[part].keys()) {
        if (characters > CHARACTERS_PER_PACKET) {
          yield portion
          portion = { data: [], children: [] }
          characters = 0
        }
        portion[part].push(path)
        characters += path.length
      }
    }
    if (characters > 0) yield portion
  }

  clear(): void {
    for (const part of PARTS) this.watchers[part].clear()
  }
}

function partsOf({ kind }: WatchEvent): readonly WatchedPart[] {
  switch (kind) {
    case 'children':
      return ['children']
    case 'deleted':
      return PARTS
    default:
      return ['data']
  }
}
